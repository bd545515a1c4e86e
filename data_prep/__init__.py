"""The data scripts of albert_tf: from raw text to TFRecords of masked, paired sentences."""
