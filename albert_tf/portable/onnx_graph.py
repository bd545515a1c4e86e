"""An ONNX graph written node by node: weights by their names, matrix products in the precision of the file.

Every value between two nodes is float32 (or an integer); precisions differ in how weights are kept and multiplied:

float32   as they are.
float16   weights float16; both factors of a product are float16, the product is float32 again.
bfloat16  weights bfloat16, read as float32: a file of half the size, for runtimes that multiply in bfloat16 by
          themselves.
int8      weights int8, a scale for each column (for each row of a table that is looked up), so that no weight is off
          by more than half a step of 1/64 of its column's largest; what they are multiplied by is divided by the
          largest of its row and becomes uint8 at each call (ONNX's DynamicQuantizeLinear), and sums are whole numbers
          (MatMulInteger). With one range for a whole batch a token far off the others would leave these few steps.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from albert_tf.portable.interface import Interface
from albert_tf.portable.onnx_nodes import OnnxNodes
from albert_tf.runtime.errors import InputError

# LayerNormalization came with 17, Gelu with 20; the oldest that has both is read by the most programs.
OPSET = 20
# Of the file format of that opset's time.
_IR_VERSION = 9
# protobuf's own limit on a message.
_LARGEST_FILE = 2**31 - 1
# Seven bits: processors without VNNI add two products of a byte up in 16 bits, 2 * 255 * 64 at most, and saturate.
_INT8_MOST = 64


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A weight as the graph keeps it: the value's name, and with int8 that of its scales."""

    value: str
    scale: str | None = None


class OnnxGraph(OnnxNodes):
    """Nodes and initializers that are added one by one, and what is made of weights.

    Args:
        weights: float32 arrays by the names of models.named_weights; only those that are asked for are written, once.
        precision: "float32", "bfloat16", "float16" or "int8".
    """

    def __init__(self, weights: Mapping[str, np.ndarray], precision: str):
        super().__init__()
        self._weights = weights
        self._precision = precision

    @property
    def multiplies_floats(self) -> bool:
        """False where the factors of a product become whole numbers, by a scale for each column of a kernel."""
        return self._precision != "int8"

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a weight."""
        return self._weights[name].shape

    def vector(self, name: str) -> str:
        """The name of a weight that stays float32 in every precision: a bias, a scale, a small table."""
        return self.initializer(name, self._weights[name])

    def stack(self, name: str, parts: Sequence[str]) -> str:
        """The name of float32 weights [n, ...], made of n weights of one shape by their names."""
        return self.initializer(name, np.stack([self._weights[part] for part in parts]))

    def kernel(self, name: str) -> Kernel:
        """A weight [n, m] to multiply by."""
        return self._kept(name, axis=0)

    def table(self, name: str) -> Kernel:
        """A weight [n, m] whose rows are looked up, and which `transposed` makes a kernel of."""
        return self._kept(name, axis=1)

    def side_by_side(self, kernels: Sequence[Kernel]) -> Kernel:
        """Kernels [n, m1], [n, m2], ... as one [n, m1 + m2 + ...]; a runtime joins them once, as it loads a file."""
        value = self.once("Concat", *(kernel.value for kernel in kernels), axis=1)
        scales = [kernel.scale for kernel in kernels if kernel.scale is not None]
        return Kernel(value, self.once("Concat", *scales, axis=0) if scales else None)

    def rows(self, kernel: Kernel, begin: int, end: int) -> Kernel:
        """The rows [begin, end) of a kernel."""
        value = self.once("Slice", kernel.value, *(self.constant([at]) for at in (begin, end, 0)))
        return Kernel(value, kernel.scale)

    def transposed(self, table: Kernel) -> Kernel:
        """A table [n, m] as a kernel [m, n]."""
        return Kernel(self.once("Transpose", table.value, perm=[1, 0]), table.scale)

    def product(self, x: str, kernel: Kernel, bias: str | None = None) -> str:
        """x @ kernel + bias: float32 [..., n], [n, m], float32 [m] -> float32 [..., m]."""
        if kernel.scale is not None:
            largest, values, scale, zero = self._quantized(x)
            sums = self.add("Cast", self.add("MatMulInteger", values, kernel.value, zero), to=self.float32)
            # onnxruntime computes all of this but the last as one.
            result = self.add("Mul", self.add("Mul", sums, self.add("Mul", scale, kernel.scale)), largest)
        else:
            result = self._multiply(x, kernel.value)
        return result if bias is None else self.add("Add", result, bias)

    def matmul(self, left: str, right: str) -> str:
        """The product of two float32 values, neither of which is a weight; with float16 they are float16 for it."""
        return self._multiply(left, self._halved(right))

    def lookup(self, table: Kernel, ids: str) -> str:
        """Rows of a table: [n, m], integers [...] -> float32 [..., m]."""
        found = self.add("Gather", table.value, ids)
        if self._precision == "float32":
            return found
        found = self.add("Cast", found, to=self.float32)
        if table.scale is None:
            return found
        scale = self.add("Unsqueeze", self.add("Gather", table.scale, ids), self.constant([-1]))
        return self.add("Mul", found, scale)

    def to_model(self, interface: Interface, outputs: Mapping[str, str], producer: tuple[str, str]) -> bytes:
        """The finished file, checked by ONNX's own checker.

        Args:
            interface: names, types and axes of inputs and outputs.
            outputs: for each output of the interface the name of the value it is.
            producer: name and version of the program that writes it.

        Raises:
            InputError: the weights are larger than a file of this format can be.
        """
        size = sum(len(initializer.raw_data) for initializer in self._initializers.values())
        if size > _LARGEST_FILE - (16 << 20):
            raise InputError(
                f"--precision={self._precision}: the weights take {size / 2**30:.1f} GiB, a file of ONNX holds less "
                "than 2 GiB; choose a precision of fewer bytes"
            )
        helper = self._onnx.helper
        nodes = list(self._bodies[0].nodes)
        nodes += [helper.make_node("Identity", [value], [name], name=name) for name, value in outputs.items()]
        forms = interface.inputs, interface.outputs
        graph = self.graph_of(f"albert_{interface.head}", nodes, *forms, self._initializers.values())
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=_IR_VERSION)
        model.producer_name, model.producer_version = producer
        self._onnx.checker.check_model(model, full_check=True)
        return model.SerializeToString()

    def _kept(self, name: str, axis: int) -> Kernel:
        """A weight in the precision of the file; with int8 a scale for everything that lies along the axis."""
        array = self._weights[name]
        if self._precision == "float32":
            return Kernel(self.initializer(name, array))
        if self._precision == "float16":
            return Kernel(self.initializer(name, as_float16(name, array)))
        if self._precision == "bfloat16":
            return Kernel(self.once("Cast", self.initializer(name, as_bfloat16(array)), to=self.float32))
        scale = np.max(np.abs(array), axis=axis).astype("float32") / np.float32(_INT8_MOST)
        # Of a column of nothing but zeros.
        scale[scale == 0] = 1.0
        steps = np.rint(array / np.expand_dims(scale, axis)).clip(-_INT8_MOST, _INT8_MOST).astype("int8")
        return Kernel(self.initializer(name, steps), self.initializer(f"{name}/scale", scale))

    def _quantized(self, x: str) -> list[str]:
        """The largest of each row [..., 1]; and the rows over it as uint8, their scale and what stands for zero."""

        def quantize(_):
            largest = self.add("ReduceMax", self.add("Abs", x), self.constant([-1]), keepdims=1)
            # Of a row of nothing but zeros.
            largest = self.add("Max", largest, self.constant(1e-30, "float32"))
            rows = self.add("Div", x, largest)
            return [largest, *self.add("DynamicQuantizeLinear", rows, count=3)]

        return list(self.found_or_made(("quantized", x), [x], quantize))

    def _halved(self, x: str) -> str:
        return self.once("Cast", x, to=self.type_of("float16")) if self._precision == "float16" else x

    def _multiply(self, x: str, factor: str) -> str:
        result = self.add("MatMul", self._halved(x), factor)
        return self.add("Cast", result, to=self.float32) if self._precision == "float16" else result


def as_bfloat16(array: np.ndarray) -> np.ndarray:
    """A weight in bfloat16, by a dtype of a package that onnx brings along."""
    import ml_dtypes

    return array.astype(ml_dtypes.bfloat16)


def as_float16(name: str, array: np.ndarray) -> np.ndarray:
    """A weight in float16.

    Raises:
        InputError: a value of it is beyond float16's largest.
    """
    if np.max(np.abs(array), initial=0.0) > np.finfo("float16").max:
        raise InputError(f"--precision=float16: {name} has values beyond float16's largest; choose float32 or int8")
    return array.astype("float16")
