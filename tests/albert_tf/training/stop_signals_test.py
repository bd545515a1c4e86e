"""A first signal is remembered, a second one ends the process, and afterwards all is as it was."""

import os
import signal
import subprocess
import sys
import time

import pytest

from albert_tf.runtime.command import EXIT_STOPPED
from albert_tf.runtime.errors import RunStopped
from albert_tf.training.stop_signals import StopSignals


def _wait_for(signals: StopSignals) -> None:
    end = time.monotonic() + 10
    while not signals.received and time.monotonic() < end:
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_is_remembered(number):
    before = signal.getsignal(number)
    with StopSignals() as signals:
        assert signals.received is None
        os.kill(os.getpid(), number)
        _wait_for(signals)
        assert signals.received == signal.Signals(number).name
        with pytest.raises(RunStopped, match=f"stopped by {signals.received}; all is saved") as stopped:
            signals.stop("all is saved")
        assert stopped.value.exit_code == EXIT_STOPPED == 75
    assert signal.getsignal(number) is before


def test_the_second_signal_ends_the_process_whatever_it_does():
    program = (
        "import os, signal, time\n"
        "from albert_tf.training.stop_signals import StopSignals\n"
        "with StopSignals() as signals:\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    while not signals.received: time.sleep(.01)\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    time.sleep(60)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, timeout=30)
    assert done.returncode == 128 + signal.SIGTERM
