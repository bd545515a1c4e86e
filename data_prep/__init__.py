"""From raw text to TFRecords of masked, paired sentences: the data scripts of albert_tf."""
