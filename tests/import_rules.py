"""The rules of docs/architecture.md on imports, and a checker of them.

Imports inside functions and under TYPE_CHECKING count for the direction: they are dependencies all the same. Only the
rule that keeps TensorFlow out of the Keras code looks at what runs when a module is imported.
"""

import ast
import graphlib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# The rooms of albert_tf by level. Every other module at the top of the package is a command, the highest level, and so
# are the benchmarks.
LEVELS = [
    ("config", "runtime"),
    ("kernels", "losses", "official", "published", "records", "tokenization"),
    ("inputs", "layers", "optimization"),
    ("heads", "tasks"),
    ("models",),
    ("checkpoints",),
    ("conversion", "training"),
    ("analysis", "embedding", "finetuning", "planning", "pretraining", "uploading", "exports"),
    ("experiments", "serving"),
    ("distillation", "portable", "reports", "rows", "server"),
]
COMMAND_LEVEL = len(LEVELS)
# Commands by official names, which run our own commands.
OFFICIAL_COMMANDS = (
    *("export_checkpoints", "export_to_tfhub", "run_classifier", "run_race", "run_squad_v1", "run_squad_v2"),
)
LEVEL_OF = {part: level for level, parts in enumerate(LEVELS) for part in parts}
LEVEL_OF |= dict.fromkeys(OFFICIAL_COMMANDS, COMMAND_LEVEL + 1)

# What data_prep may use of albert_tf.
OPEN_TO_DATA_PREP = ("analysis.pyplot", "config", "official", "records", "runtime", "tokenization")

# Pure Keras 3: the same code runs on Keras's other backends.
PURE_KERAS = ("config", "heads", "kernels", "layers", "losses", "models", "optimization")
# The one file that holds what differs by backend; it imports TensorFlow, and the modules for it, only for that backend.
BACKEND_FILE = "albert_tf.kernels.backend"
TENSORFLOW_MODULES = "albert_tf.kernels.tensorflow_"
# These may import, of kernels, only the package itself and the layers that hold weights.
BEFORE_THE_DOORS = ("heads", "layers", "losses")
OPEN_OF_KERNELS = ("albert_tf.kernels", "albert_tf.kernels.projection")
# What every other room takes of that file, beside the doors: it compiles, and it holds variables.
OPEN_OF_BACKEND = ("assign_update", "compiled", "compiled_for", "compiled_reader", "known_values", "read")


@dataclass(frozen=True)
class Import:
    """An import statement: what it names, where, and whether it runs when the module is imported."""

    name: str
    line: int
    at_import: bool


def imports_of(module, source, is_package, known=()):
    """All imports in a source, `from package import module` as package.module where that module is known."""
    found = []

    def visit(node, at_import):
        for child in ast.iter_child_nodes(node):
            inside_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            if isinstance(child, ast.Import):
                found.extend(Import(alias.name, child.lineno, at_import) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                base = absolute_name(module, child.level, child.module, is_package)
                for alias in child.names:
                    name = f"{base}.{alias.name}"
                    found.append(Import(name if name in known else base, child.lineno, at_import))
            if isinstance(child, ast.If) and ast.unparse(child.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
                visit(ast.Module(child.body, []), False)
                visit(ast.Module(child.orelse, []), at_import)
            else:
                visit(child, at_import and not inside_function)

    visit(ast.parse(source), True)
    return found


def absolute_name(module, level, name, is_package):
    """The module that `from <level dots><name> import` means inside `module`."""
    if not level:
        return name
    parts = module.split(".")
    package = parts if is_package else parts[:-1]
    package = package[: len(package) - level + 1]
    return ".".join([*package, name] if name else package)


def part_of(module):
    """The part of albert_tf that a module belongs to: albert_tf.layers.dropout -> layers. "" is the package itself."""
    return [*module.split("."), ""][1]


def level_of(module):
    """The level of a module of albert_tf; None for the package itself, which holds a version and nothing else."""
    part = part_of(module)
    return LEVEL_OF.get(part, COMMAND_LEVEL) if part else None


def faults(modules):
    """All breaches of the import direction.

    Args:
        modules: {module name: (source, is it a package's __init__)}.
    """
    found = []
    for module, (source, is_package) in sorted(modules.items()):
        for item in imports_of(module, source, is_package, modules):
            found += [f"{module}:{item.line} imports {item.name}: {rule}" for rule in rules_broken(module, item)]
    return found + cycles(modules) + circles_of_rooms(modules)


def rules_broken(module, item):
    """The rules that one import breaks."""
    package, imported = module.split(".")[0], item.name.split(".")[0]
    if package == "albert_tf" and imported == "data_prep":
        yield "albert_tf never imports data_prep"
    if package == "data_prep" and imported == "albert_tf":
        used = item.name.partition(".")[2]
        if used and not any(used == part or used.startswith(f"{part}.") for part in OPEN_TO_DATA_PREP):
            yield "data_prep may use only what is listed in OPEN_TO_DATA_PREP"
    if package == imported == "albert_tf":
        yield from direction_broken(module, item)
    knows_tensorflow = module == BACKEND_FILE or module.startswith(TENSORFLOW_MODULES)
    is_pure = part_of(module) in PURE_KERAS and not knows_tensorflow
    if package == "albert_tf" and is_pure and item.at_import and imported.startswith("tensorflow"):
        yield "this part is pure Keras"
    inside_kernels = item.name.startswith("albert_tf.kernels") and item.name not in OPEN_OF_KERNELS
    if package == "albert_tf" and part_of(module) in BEFORE_THE_DOORS and inside_kernels:
        yield "only the doors of kernels are open to it"
    if is_pure and item.name.startswith(TENSORFLOW_MODULES):
        yield f"only {BACKEND_FILE} knows when that can be imported"


def direction_broken(module, item):
    """The rules on direction that one import within albert_tf breaks."""
    imported = item.name
    here, there = level_of(module), level_of(imported)
    if there is None:
        return
    if here is None:
        # An import for type checkers alone does not count.
        if item.at_import:
            yield "the package itself imports nothing"
    elif there > here:
        yield f"level {there} from level {here}"
    elif here == there >= COMMAND_LEVEL and part_of(module) != part_of(imported):
        yield "a command must not import another"


def cycles(modules):
    """A cycle among modules, if imports that run at import make one."""
    graph = {
        module: {item.name for item in imports_of(module, source, is_package, modules) if item.at_import}
        for module, (source, is_package) in modules.items()
    }
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return [f"cycle: {' -> '.join(error.args[1])}"]
    return []


def circles_of_rooms(modules):
    """A circle of folders, if all imports, those inside functions too, make one."""
    graph = {}
    for module, (source, is_package) in modules.items():
        for item in imports_of(module, source, is_package, modules):
            here, there = room_of(module, modules), room_of(item.name, modules)
            if here and there and here != there:
                graph.setdefault(here, set()).add(there)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return [f"circle: {' -> '.join(error.args[1])}"]
    return []


def room_of(module, modules):
    """The folder of a module, such as albert_tf.layers; None at the top of a package, and for what is not ours."""
    room = ".".join(module.split(".")[:2])
    return room if "." in room and modules.get(room, ("", False))[1] else None


def sources():
    """Every module of the two packages."""
    modules = {}
    for package in ("albert_tf", "data_prep"):
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            is_package = parts[-1] == "__init__"
            modules[".".join(parts[:-1] if is_package else parts)] = (path.read_text(), is_package)
    return modules
