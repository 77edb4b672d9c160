"""Batches on a GPU. Skipped where torch has none."""

import pytest
import torch
from test_loader import open_pictures

if not torch.cuda.is_available():
    pytest.skip("torch has no GPU", allow_module_level=True)


def rows(loader):
    return [[tensor.cpu() for tensor in batch] for batch in loader]


def test_batches_on_the_gpu_are_those_of_the_host(pictures):
    expected = rows(open_pictures(pictures, output="torch"))
    on_host = {"device": "cuda", "normalize": "host"}
    for arguments in ({"device": "cuda"}, on_host, on_host | {"memory_format": torch.channels_last},
                      {"device": "cuda", "memory_format": torch.channels_last}, {"pin_memory": True}):
        loader = open_pictures(pictures, output="torch", **arguments)
        images, labels, ids = next(iter(loader))
        assert images.is_cuda == ("device" in arguments) and images.is_cuda == ids.is_cuda == labels.is_cuda
        assert images.is_pinned() == ("pin_memory" in arguments)
        assert images.is_contiguous(memory_format=arguments.get("memory_format", torch.contiguous_format))
        loader.set_epoch(0)
        tolerance = 5e-7 if images.is_cuda and "normalize" not in arguments else 0
        for batch, other in zip(rows(loader), expected, strict=True):
            assert torch.equal(batch[2], other[2]) and torch.equal(batch[1], other[1])
            assert torch.allclose(batch[0], other[0], rtol=0, atol=tolerance)


@pytest.mark.parametrize("on_device", [False, True])
def test_no_byte_is_overwritten_while_a_busy_gpu_lags_behind(pictures, on_device):
    """1,000 batches that are dropped at once; a slow kernel before each use keeps the GPU behind."""
    sums, loader = [], open_pictures(pictures, output="torch",
                                     **({"device": "cuda"} if on_device else {"pin_memory": True}))
    seen, expected = [], {}
    for batch in open_pictures(pictures, output="torch", shuffle=False):
        for image, sample in zip(batch[0], batch[2].tolist()):
            expected[sample] = image
    work = torch.randn(1024, 1024, device="cuda")
    while len(sums) < 1000:
        for images, _, ids in loader:
            work = torch.tanh(work @ work)
            sums.append(images.cuda(non_blocking=True).double().sum())
            seen.append(ids.cpu() if not on_device else ids)
            del images
            if len(sums) == 1000:
                break
    torch.cuda.synchronize()
    again, other = [], open_pictures(pictures, output="torch")
    while len(again) < 1000:
        for images, _, ids in other:
            again.append(images.double().sum())
            assert torch.equal(ids, seen[len(again) - 1].cpu())
            if len(again) == 1000:
                break
    assert all(abs(a.item() - b.item()) < 1e-6 * max(1, abs(b.item())) for a, b in zip(sums, again, strict=True))


def test_other_libraries_take_batches_by_dlpack(pictures):
    images = next(iter(open_pictures(pictures, output="torch", device="cuda")))[0]
    stream = torch.cuda.Stream()
    capsule = images.__dlpack__(stream=stream.cuda_stream)
    assert torch.equal(torch.utils.dlpack.from_dlpack(capsule), images)
