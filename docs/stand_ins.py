"""Stand-ins for Keras and TensorFlow while docstrings are read, so that neither is loaded.

Sphinx's own mocks put a mock in the place of every class that a decorator of Keras was applied to.

>>> install("some_framework")
>>> import some_framework
>>> some_framework.saving.register("package")(dict), some_framework.Model
(<class 'dict'>, <class 'some_framework.Model'>)
"""

import importlib.abc
import importlib.machinery
import inspect
import sys
import types


class _Object:
    """An instance of a stand-in's class: it takes any arguments."""

    def __init__(self, *args, **kwargs):
        """Keeps nothing."""


class StandIn(types.ModuleType):
    """A module or a function of a framework; a name in capitals is a class, whatever else is in it a stand-in again."""

    __path__ = ()

    def __getattr__(self, name):
        """Makes what is asked for, once."""
        if name.startswith("__"):
            raise AttributeError(name)
        if name[0].isupper():
            made = type(name, (_Object,), {"__module__": self.__name__})
        else:
            made = StandIn(f"{self.__name__}.{name}")
        setattr(self, name, made)
        return made

    def __call__(self, *args, **kwargs):
        """Leaves what it decorates as it is; with arguments of a decorator, it is the decorator."""
        decorates = len(args) == 1 and not kwargs and (inspect.isclass(args[0]) or inspect.isfunction(args[0]))
        return args[0] if decorates else self


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """An importer of some packages and of everything in them."""

    def __init__(self, packages):
        self.packages = packages

    def find_spec(self, name, path=None, target=None):
        """Answers for the packages alone."""
        if name.split(".")[0] in self.packages:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        """Makes a stand-in."""
        return StandIn(spec.name)

    def exec_module(self, module):
        """Has nothing to run."""


def install(*packages):
    """Lets stand-ins be imported in place of these packages."""
    sys.meta_path.insert(0, _Finder(packages))
