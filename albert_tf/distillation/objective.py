"""The objective of a student: the teacher's vectors, and which texts are near to one another by them.

Shapes: B rows of a batch, H numbers of a vector.
"""

from keras import ops

from albert_tf.distillation.losses import cosine_loss, relation_loss
from albert_tf.embedding.objectives import Objective
from albert_tf.inputs.finetuning_dataset import EXAMPLE_WEIGHT

# In a batch, float32 [B, H], of length 1.
TEACHER_VECTOR = "teacher_vector"


class TeacherVectors(Objective):
    """A weighted sum of the loss of each vector and of their relations in a batch.

    "cosine" is the mean cosine of the student's vectors and the teacher's, "relation" the mean divergence in nats.

    Args:
        cosine_weight, relation_weight: of the two losses; one of weight 0 is computed all the same, to be reported.
        temperature: of relations, see losses.relation_loss.
    """

    metrics = ("cosine", "relation")
    compares_rows = True

    def __init__(self, cosine_weight: float, relation_weight: float, temperature: float):
        self.cosine_weight, self.relation_weight = cosine_weight, relation_weight
        self.temperature = temperature

    def loss(self, vectors, batch, counts):
        """See embedding.objectives.Objective; the batch has TEACHER_VECTOR too."""
        count = ops.maximum(counts[0], 1.0)
        learned = (ops.normalize(vectors[:, 0]), batch[TEACHER_VECTOR], batch[EXAMPLE_WEIGHT])
        distance, weight = cosine_loss(*learned)
        relation, _ = relation_loss(*learned, self.temperature)
        loss = self.cosine_weight * distance + self.relation_weight * relation
        return loss / count, [(weight - distance) / count, relation / count]
