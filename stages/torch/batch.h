#pragma once
// The adapter between slabs and tensors.

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nets/package/compiled_net.h"
#include "nets/tensors.h"
#include "sampling/images/finish.h"
#include "stages/loader/batch_mixer.h"
#include "stages/model/learner_spec.h"

namespace flowtrain {

/// Makes named tensors of a slab's rows. Fields are views into the slab; u8 pictures (B, H, W, C) become f32 (B, C, H,
/// W), (x / 255 - mean) / stddev, in memory that is kept from batch to batch. An f32 `image` (B, H, W, C) is finished:
/// it becomes a view (B, C, H, W).
///
/// With a mixer the field `image` is tinted, erased and mixed in the same pass. In a mixed batch `label` is the heavier
/// of each row's two labels, and every measure compares with that one. It also has `second_label` (B) i64, and
/// `label_weight` () f64 on the CPU: the share of `label`, at least a half.
///
/// With `source` each field is also there as "<source>.<field>": a net that trains on groups of rows finds the fields
/// of a validation by these names.
class BatchAdapter {
 public:
  /// `where` is the device of the slabs' memory.
  BatchAdapter(const SlabLayout& layout, at::Device where, bool channels_last, std::optional<BatchMixer> mixer = {},
               std::string source = {});
  /// Returns tensors that are valid until the next call, or until the slab is given back.
  nets::NamedTensors operator()(Slab& slab);

 private:
  struct Picture {
    std::size_t field;
    std::vector<float> mean, stddev;  // values 0 … 1 per channel
    PixelRule rule;
    PictureFinisher finish;   // used on the CPU
    at::Tensor pixels;        // f32 (B, C, H, W) for a full batch; of groups, for the largest one so far
    std::vector<float> grey;  // mean levels of the batch's rows, used if colours change on the CPU
  };
  at::Tensor pixels_of(PictureShape shape, std::int64_t rows) const;
  at::Tensor view(Slab& slab, std::size_t field) const;
  at::Tensor finished(Slab& slab, Picture& picture, const BatchMix* mix);
  void finish_here(Slab& slab, Picture& picture, PixelMix* mix, float* to);
  void finish_there(Slab& slab, Picture& picture, PixelMix* mix, float* to);
  void mix_labels(const BatchMix& mix, nets::NamedTensors& batch);

  const SlabLayout& layout_;
  at::Device where_;
  std::vector<Picture> pictures_;
  std::optional<BatchMixer> mixer_;
  const bool planar_;  // pictures are written as (B, C, H, W)
  const std::string source_;
  at::Tensor partners_;  // (rows) i64 of the last mixed batch
};

/// Returns the fields of its batches, as the adapter makes them of a full slab; those of groups have all its rows.
std::vector<nets::BatchField> batch_fields(const SlabLayout& layout, const std::string& source = {});

/// Returns a batch of these fields, all zero.
nets::NamedTensors zero_batch(const SlabLayout& layout, std::int64_t rows, at::Device where);

/// Makes the adapter of the spec's training batches, in slabs of a layout.
std::unique_ptr<BatchAdapter> make_train_batches(const LearnerSpec& spec, const SlabLayout& layout);

}  // namespace flowtrain
