"""A cooker for Megatron-Energon: edit pairs from a WebDataset output of Diptych.

The output is opened as it lies; `energon prepare` is not needed. With this file on the path:

    from energon_edit_pairs import EditPairs
    from megatron.energon import WorkerConfig, get_loader, get_train_dataset

    dataset = get_train_dataset(
        "out/inter-edit", batch_size=4, shuffle_buffer_size=1000, max_samples_per_sequence=None,
        worker_config=WorkerConfig.default_worker_config(2), task_encoder=EditPairs(),
    )
    for pairs in get_loader(dataset):
        ...

A batch is a list of `EditPair`. Pictures are of many sizes: override `encode_sample` to resize
them and `batch` to stack them. Every picture comes as RGB, the mask too.
"""

from dataclasses import dataclass

from megatron.energon import (
    Cooker, DefaultTaskEncoder, Sample, SampleDecoder, basic_sample_keys, stateless,
)
from PIL.Image import Image


@dataclass
class EditPair(Sample):
    """One edit. `mask` is None where there is none; what is null in `record` is None too."""

    source: Image
    references: list[Image]
    target: Image
    mask: Image | None
    record: dict


@stateless
def cook(sample: dict) -> EditPair:
    """Picks the parts that the record names."""
    record = sample["json"]
    pictures = record["pictures"]
    return EditPair(
        **basic_sample_keys(sample),
        source=sample[pictures["source"]["part"]],
        references=[sample[reference["part"]] for reference in pictures["references"]],
        target=sample[pictures["target"]["part"]],
        mask=sample[pictures["mask"]["part"]] if pictures["mask"] else None,
        record=record,
    )


class EditPairs(DefaultTaskEncoder):
    """Gives edit pairs, in lists as they come."""

    decoder = SampleDecoder(image_decode="pil")
    cookers = [Cooker(cook)]

    def batch(self, samples: list[EditPair]) -> list[EditPair]:
        """Leaves the samples of a batch as they are."""
        return samples
