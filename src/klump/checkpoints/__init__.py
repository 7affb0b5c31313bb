"""Checkpoints of long runs: a journal of finished results, from which a run that was killed continues."""

from klump.checkpoints.opening import Checkpoint, open_checkpoint
from klump.checkpoints.scopes import Once, Scope, always
from klump.checkpoints.values import storable

__all__ = ["Checkpoint", "Once", "Scope", "always", "open_checkpoint", "storable"]
