"""This package's own privacy transforms, in the order of the reference. Kafka Connect has no such classes."""

from dagster_smt.authoring.transform import Transform
from dagster_smt.transforms.privacy.coarsen import Coarsen
from dagster_smt.transforms.privacy.decrypt import Decrypt
from dagster_smt.transforms.privacy.detokenize import Detokenize
from dagster_smt.transforms.privacy.encrypt import Encrypt
from dagster_smt.transforms.privacy.mask_part import MaskPart
from dagster_smt.transforms.privacy.pseudonymize import Pseudonymize
from dagster_smt.transforms.privacy.redact import Redact
from dagster_smt.transforms.privacy.tokenize import Tokenize

ALL: tuple[type[Transform], ...] = (
    Coarsen,
    Decrypt,
    Detokenize,
    Encrypt,
    MaskPart,
    Pseudonymize,
    Redact,
    Tokenize,
)
