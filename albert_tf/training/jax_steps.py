"""Steps on JAX: one program for all devices, each with its rows of a batch and the same weights."""

import time

import jax
import jax.numpy as jnp
import keras
import numpy as np

from albert_tf.kernels import fold_in
from albert_tf.training import loss_scale
from albert_tf.training.jax_devices import ROWS, local_copy
from albert_tf.training.steps import Progress, Steps

# Steps that a call of the device may take; their batches are handed to it together.
_MOST_STEPS_AT_ONCE = 8


class _Placed:
    """Values of variables on the devices: put there anew only if somebody else gave a variable another one."""

    def __init__(self, variables, sharding):
        self._variables = list(variables)
        self._sharding = sharding
        self._known = [(None, None)] * len(self._variables)

    def read(self) -> list[jax.Array]:
        """The variables' values, on every device."""
        for place, variable in enumerate(self._variables):
            value, (local, _) = variable.value, self._known[place]
            if value is not local:
                self._known[place] = value, jax.device_put(value, self._sharding)
        return [placed for _, placed in self._known]

    def write(self, values: list[jax.Array]) -> None:
        """Gives the variables new values, of which this process can use its own copy."""
        for place, (variable, placed) in enumerate(zip(self._variables, values, strict=True)):
            variable.assign(local_copy(placed))
            self._known[place] = variable.value, placed


def _described(value, sharding, *before):
    """The shape, type and place of an array, with more axes before its own."""
    return jax.ShapeDtypeStruct((*before, *value.shape), value.dtype, sharding=sharding)


class JaxSteps(Steps):
    """Steps in programs of JAX, which its compiler spreads over the devices."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        on_all = self.strategy.replicated
        if self.optimizer is not None:
            # What a program reads without being given it stays in it as it was.
            self._frozen += self.optimizer.schedule_variables
        self._weights = _Placed(self._variables, on_all)
        self._constants = _Placed(self._frozen, on_all)
        if self.optimizer is not None:
            self._slots = _Placed(self.optimizer.variables, on_all)
        self._take_on_device = jax.jit(self._take_steps, out_shardings=on_all, donate_argnums=(0, 1))
        self._evaluate_on_device = jax.jit(self._evaluate_batch, out_shardings=on_all)
        self._predict_on_device = jax.jit(self._predict_batch)

    def evaluate(self, batch):
        """Adds up what `_evaluate_share` gives; see Steps."""
        return np.asarray(self._evaluate_on_device(self._all_weights(), self.strategy.share_out(batch)))

    def _all_weights(self) -> tuple[list[jax.Array], list[jax.Array]]:
        """The values of what is trained, and of what is frozen."""
        return self._weights.read(), self._constants.read()

    def _evaluate_batch(self, weights, batch):
        with self._scope(*weights):
            return self._evaluate_share(batch)

    def predict(self, batch):
        """Gathers what `_predict_share` gives; see Steps."""
        return self.strategy.gather(self._predict_on_device(self._all_weights(), self.strategy.share_out(batch)))

    def _predict_batch(self, weights, batch):
        with self._scope(*weights):
            return self._predict_share(batch)

    def take(self, iterator, num_steps, progress):
        """Takes steps; see Steps. The batches of the next call of the device are read while it computes."""
        at_once = 1 if self.static_shapes else _MOST_STEPS_AT_ONCE
        taken, goes_on, last, waited_before = 0, True, None, progress.waited
        (weights, frozen), slots = self._all_weights(), self._slots.read()
        progress = jax.device_put(progress._replace(waited=None), self.strategy.replicated)
        try:
            batches, placed, waited = self._read_ahead(iterator, min(at_once, num_steps), at_once)
            while taken < num_steps and goes_on:
                count = len(batches)
                weights, slots, progress, done, last, goes_on = self._take_on_device(
                    weights, slots, frozen, placed, count, progress
                )
                left = num_steps - taken - count
                following, placed, late = self._read_ahead(iterator, min(at_once, left), at_once, busy_until=done)
                done, goes_on = int(done), bool(goes_on)
                iterator.put_back([] if goes_on else [*batches[done:], *following])
                taken, batches, waited = taken + done, following, waited + late
        finally:
            # What the variables held before is given to the device, whatever came of a later batch.
            self._weights.write(weights)
            self._slots.write(slots)
        return progress._replace(waited=waited_before + waited), taken, last, goes_on

    def _read_ahead(self, iterator, count, at_once, busy_until=None):
        """The next `count` batches, and the same on the devices, filled up to `at_once`.

        Args:
            iterator: of batches.
            count: of batches; 0 reads none.
            at_once: batches that the program takes.
            busy_until: jax.Array that is there once the device has nothing more to do; None: it has nothing to do.

        Returns:
            (list of batches, arrays by name or None, seconds in which the device had nothing to do).
        """
        idle_since = time.monotonic() if busy_until is None else None
        batches = []
        while len(batches) < count:
            batches.append(next(iterator))
            if idle_since is None and busy_until.is_ready():
                idle_since = time.monotonic()
        if not batches:
            return batches, None, 0.0
        # Always as many, so that one program serves: the last one again, which is not looked at.
        filled = batches + batches[-1:] * (at_once - count)
        stacked = {name: np.stack([batch[name] for batch in filled]) for name in filled[0]}
        placed = self.strategy.share_out(stacked, axis=1)
        return batches, placed, 0.0 if idle_since is None else time.monotonic() - idle_since

    def lower(self, batch):
        """The program that `take` runs, not yet compiled: for devices that need not be there.

        Args:
            batch: by name an array, or a shape and a type of numbers, of a whole batch's rows.

        Returns:
            jax.stages.Lowered.
        """
        on_all, by_rows = self.strategy.replicated, self.strategy.by_rows(1)
        slots = [_described(variable.value, on_all) for variable in self.optimizer.variables]
        batches = {name: _described(value, by_rows, _MOST_STEPS_AT_ONCE) for name, value in batch.items()}
        progress = jax.tree.map(lambda value: _described(value, on_all), self.start()._replace(waited=None))
        weights, frozen = self._described_weights()
        return self._take_on_device.lower(weights, slots, frozen, batches, _MOST_STEPS_AT_ONCE, progress)

    def lower_evaluation(self, batch):
        """The program of `evaluate`, not yet compiled; see lower."""
        rows = {name: _described(value, self.strategy.by_rows()) for name, value in batch.items()}
        return self._evaluate_on_device.lower(self._described_weights(), rows)

    def _described_weights(self):
        kinds = self._variables, self._frozen
        return tuple([_described(one.value, self.strategy.replicated) for one in variables] for variables in kinds)

    def _take_steps(self, weights, slots, frozen, batches, count, progress):
        """Takes `count` steps on the batches, at most as many as there are; stops after one that is not finite."""

        def goes_on(state):
            return (state[3] < count) & state[5]

        def step(state):
            weights, slots, progress, taken, _, _ = state
            batch = {name: value[taken] for name, value in batches.items()}
            weights, slots, progress, last, usable = self._step(weights, slots, frozen, batch, progress)
            return weights, slots, progress, taken + 1, last, usable

        begin = (weights, slots, progress, jnp.int32(0), jnp.zeros(len(self.metrics)), jnp.bool_(True))
        return jax.lax.while_loop(goes_on, step, begin)

    def _step(self, weights, slots, frozen, batch, progress: Progress):
        scale = progress.scale.scale
        iterations = slots[self._place_of_iterations()]
        seed = fold_in(np.array([self._seed, 0]), iterations)
        gradients, shares = self.strategy.sum_over_devices(self._compute_share, weights, batch, (seed, scale, frozen))
        if self.scale_loss:
            gradients = [gradient / scale for gradient in gradients]
        with self._scope(weights, frozen):
            gradients = self._gradients_to_apply(gradients)
        norm = jnp.sqrt(sum(jnp.sum(jnp.square(gradient)) for gradient in gradients))
        most = self.max_gradient_norm
        gradients = [gradient * (most * jnp.minimum(1.0 / norm, 1.0 / most)) for gradient in gradients]
        finite = jnp.isfinite(norm) & jnp.isfinite(shares[0])
        new_weights, new_slots = self._apply(weights, slots, frozen, gradients)
        weights, slots = jax.tree.map(
            lambda new, old: jnp.where(finite, new, old), (new_weights, new_slots), (weights, slots)
        )
        slots[self._place_of_iterations()] = iterations + 1
        last = jnp.concatenate([shares, norm[None]])
        scale, usable = loss_scale.adjust(progress.scale, finite, jnp.isfinite(last[0]), self.scale_loss)
        totals = progress.totals + jnp.where(finite, last, 0.0)
        counted = progress.counted + finite.astype(jnp.float32)
        return weights, slots, Progress(totals, counted, progress.waited, scale), last, usable

    def _compute_share(self, weights, batch, seed_scale_and_frozen):
        """(gradients, times scale; metrics without the norm) of one device's rows, one micro-batch after another."""
        seed, scale, frozen = seed_scale_and_frozen
        counts = jax.lax.psum(self._counts(batch), ROWS)
        number = self.gradient_accumulation_steps
        seed = fold_in(seed, jax.lax.axis_index(ROWS))

        def losses(weights, batch, seed):
            with self._scope(weights, frozen):
                loss, shares = self._losses(batch, counts, seed)
            return loss * scale if self.scale_loss else loss, shares

        compute = jax.grad(losses, has_aux=True)
        if number == 1:
            found = compute(weights, batch, seed)
        else:
            # Rows 0..b/n are the first micro-batch, and so on.
            parts = {name: value.reshape(number, -1, *value.shape[1:]) for name, value in batch.items()}

            def add(index, sums):
                part = {name: value[index] for name, value in parts.items()}
                return jax.tree.map(jnp.add, sums, compute(weights, part, fold_in(seed, index)))

            nothing = ([jnp.zeros_like(weight) for weight in weights], jnp.zeros(len(self.metrics) - 1))
            found = jax.lax.fori_loop(0, number, add, nothing)
        self.all_reduce_bytes = sum(4 * value.size for value in (*jax.tree.leaves(found), *counts))
        return found

    def _apply(self, weights, slots, frozen, gradients):
        """(weights, slots) after an update."""
        with self._scope(weights, frozen, slots) as scope:
            rate = self.optimizer.learning_rate
            for variable, gradient in zip(self._updated, gradients, strict=True):
                self.optimizer.update_step(gradient, variable, rate)
            self._after_update()
        return (
            [scope.get_current_value(variable) for variable in self._variables],
            [scope.get_current_value(variable) for variable in self.optimizer.variables],
        )

    def _scope(self, weights, frozen=(), slots=()):
        """Lets the block read these values in the model's variables, and the optimizer's."""
        pairs = [*zip(self._variables, weights, strict=True)]
        if frozen:
            pairs += zip(self._frozen, frozen, strict=True)
        if slots:
            pairs += zip(self.optimizer.variables, slots, strict=True)
        return keras.StatelessScope(state_mapping=pairs)

    def _place_of_iterations(self) -> int:
        return next(
            place for place, variable in enumerate(self.optimizer.variables) if variable is self.optimizer.iterations
        )
