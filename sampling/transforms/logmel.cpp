// The transform `logmel`: logarithms of the mel energies of a recording.
#include "sampling/transforms/speech_features.h"

namespace flowtrain {

TransformEntry logmel_transform_entry() {
  return speech_features_entry(
      "logmel",
      "logarithms of the mel energies of a recording, f32 (T, bins), as by Kaldi, torchaudio or Whisper; the field "
      "NAME_length has the number of frames",
      {{"bins", Kind::integer, std::int64_t{80}, "mel filters", 1, 4096}});
}

}  // namespace flowtrain
