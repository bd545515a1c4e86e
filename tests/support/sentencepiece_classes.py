"""The messages of sentencepiece as its package describes them, read without its modules.

Those refuse to be imported beside a protobuf older than the one they were generated with.
"""

import ast
import importlib.util
from pathlib import Path
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass


def published_class(module: str, message: str) -> Any:
    """The class of a message, such as "ModelProto" of "sentencepiece_model_pb2"."""
    package = importlib.util.find_spec("sentencepiece")
    assert package is not None and package.origin is not None
    source = Path(package.origin).with_name(f"{module}.py").read_text(encoding="utf-8")
    (described,) = [
        node.args[0].value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "AddSerializedFile"
        if isinstance(node.args[0], ast.Constant)
    ]
    file = FileDescriptorProto.FromString(described)
    pool = DescriptorPool()
    pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName(f"{file.package}.{message}"))
