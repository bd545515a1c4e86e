"""Nodes of ONNX, added one by one; those that are repeated in a loop, or computed only under a condition."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from albert_tf.portable.interface import TensorForm
from albert_tf.runtime.packages import import_extra


@dataclasses.dataclass
class _Body:
    """The nodes of a graph, or of one that is inside a node of another; what `once` made there."""

    nodes: list[Any] = dataclasses.field(default_factory=list)
    made: dict[Any, Any] = dataclasses.field(default_factory=dict)


class OnnxNodes:
    """Nodes and initializers.

    Inside the functions given to `loop` and `choose` nodes are added to the graph of that node, which sees all values
    outside of it. What `once` makes of initializers alone is added outside all the same, where a runtime computes it
    as it loads the file.
    """

    def __init__(self) -> None:
        self._onnx = import_extra("onnx", "onnx")
        # The graph's own body, then those that are being made, each inside the one before.
        self._bodies = [_Body()]
        self._count = 0
        self._initializers: dict[str, Any] = {}
        # Names of values that are made of initializers alone.
        self._of_weights: set[str] = set()
        # ONNX's numbers for these dtypes.
        self.float32, self.int32, self.int64, self.bool = map(self.type_of, ("float32", "int32", "int64", "bool"))

    def add(self, op: str, *inputs: str, count: int = 1, **attributes: Any) -> Any:
        """Adds a node; returns the name of its result, or with a count above 1 the list of its results' names."""
        names = self._add(self._bodies[-1], op, inputs, count, attributes)
        return names if count > 1 else names[0]

    def once(self, op: str, *inputs: str, **attributes: Any) -> Any:
        """The result of a node that is added at the first call with these inputs, and found at later ones."""
        key = (op, inputs, tuple(sorted((name, str(value)) for name, value in attributes.items())))
        return self.found_or_made(key, inputs, lambda body: self._add(body, op, inputs, 1, attributes)[0])

    def found_or_made(self, key: Any, inputs: Sequence[str], make: Callable[[_Body], Any]) -> Any:
        """The value that a function of a body makes of inputs at the first call with a key; the same at later ones."""
        for body in reversed(self._bodies):
            if key in body.made:
                return body.made[key]
        is_of_weights = all(name in self._initializers or name in self._of_weights for name in inputs)
        body = self._bodies[0 if is_of_weights else -1]
        body.made[key] = made = make(body)
        if is_of_weights:
            self._of_weights.add(made)
        return made

    def loop(
        self, most: int, state: Sequence[str], forms: Sequence[TensorForm], step: Callable[..., tuple[str, list[str]]]
    ) -> list[str]:
        """Adds a step that is repeated until it asks for no other.

        Args:
            most: the largest number of steps.
            state: names of the values before the first.
            forms: of these values. The sizes of axes with names may change from step to step; names of the forms
                themselves are not read.
            step: adds the nodes of a step. A function of the name of its number, int64 [] from 0, and of the names of
                the state to (name of bool []: whether another one follows, names of the state after it).

        Returns:
            the names of the state after the last step.
        """
        self._count += 1
        number, is_inside, *names = (f"Loop_{self._count}_{place}" for place in range(len(state) + 2))
        flag = TensorForm(is_inside, "bool", ())
        inputs = [TensorForm(number, "int64", ()), flag, *_named(forms, names)]

        def run() -> list[str]:
            follows, after = step(number, names)
            return [follows, *after]

        body = self._body(run, [flag, *forms], inputs)
        start = (self.constant(most), self.constant(True, "bool"), *state)
        return self._add(self._bodies[-1], "Loop", start, len(state), {"body": body})

    def choose(
        self, condition: str, forms: Sequence[TensorForm], then: Callable[[], Sequence[str]], other: Sequence[str]
    ) -> list[str]:
        """Adds nodes that are computed only where a condition holds.

        Args:
            condition: name of a bool [].
            forms: of the results; their names are not read.
            then: adds these nodes, and gives the names of their results.
            other: names of values that stand in for them where the condition does not hold.
        """
        branches = {
            "then_branch": self._body(then, forms),
            "else_branch": self._body(lambda: [self.add("Identity", name) for name in other], forms),
        }
        return self._add(self._bodies[-1], "If", (condition,), len(forms), branches)

    def constant(self, values: Any, dtype: str = "int64") -> str:
        """The name of a constant with these values: an initializer, and inside a loop or a branch a node.

        OpenVINO takes what comes from outside for values that may change, and so finds no shape of a Reshape by it.
        """
        array = np.asarray(values, dtype)
        name = f"constant_{dtype}_{'x'.join(map(str, array.shape))}_{'_'.join(map(str, array.ravel().tolist()))}"
        if len(self._bodies) == 1:
            return self.initializer(name, array)
        value = self._onnx.numpy_helper.from_array(array, name)
        made = self._bodies[-1].made
        if name not in made:
            made[name] = self.add("Constant", value=value)
        return made[name]

    def initializer(self, name: str, array: np.ndarray) -> str:
        """The name of an initializer, which is written once."""
        if name not in self._initializers:
            self._initializers[name] = self._onnx.numpy_helper.from_array(np.asarray(array, order="C"), name)
        return name

    def type_of(self, dtype: str) -> int:
        """ONNX's number for a dtype of NumPy."""
        return int(self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def graph_of(self, name: str, nodes: Sequence[Any], inputs: Any, outputs: Any, initializers: Any = ()) -> Any:
        """A graph of nodes, whose inputs and outputs have these forms."""
        values = ([self._value_info(form) for form in forms] for forms in (inputs, outputs))
        return self._onnx.helper.make_graph(nodes, name, *values, list(initializers))

    def _add(self, body: _Body, op: str, inputs: Sequence[str], count: int, attributes: Any) -> list[str]:
        names = [f"{op}_{self._count}{f'_{index}' if index else ''}" for index in range(count)]
        self._count += 1
        body.nodes.append(self._onnx.helper.make_node(op, inputs, names, name=names[0], **attributes))
        return names

    def _body(
        self, make: Callable[[], Sequence[str]], forms: Sequence[TensorForm], inputs: Sequence[TensorForm] = ()
    ) -> Any:
        """The graph of the nodes that a function adds; its outputs are the values that the function names."""
        self._bodies.append(_Body())
        names = make()
        nodes = self._bodies.pop().nodes
        self._count += 1
        return self.graph_of(f"body_{self._count}", nodes, _unnamed(inputs), _unnamed(_named(forms, names)))

    def _value_info(self, form: TensorForm) -> Any:
        return self._onnx.helper.make_tensor_value_info(form.name, self.type_of(form.dtype), list(form.axes))


def _unnamed(forms: Sequence[TensorForm]) -> list[TensorForm]:
    """The same forms, whose free axes have no names.

    By the names onnxruntime knows that two values are alike, and makes one operation of their sum and its LayerNorm,
    which takes ten times as long as the two.
    """
    return [
        dataclasses.replace(form, axes=tuple(axis if isinstance(axis, int) else None for axis in form.axes))
        for form in forms
    ]


def _named(forms: Sequence[TensorForm], names: Sequence[str]) -> list[TensorForm]:
    return [dataclasses.replace(form, name=name) for form, name in zip(forms, names, strict=True)]
