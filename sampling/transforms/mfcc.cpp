// The transform `mfcc`: mel cepstra of a recording.
#include "sampling/transforms/speech_features.h"

namespace flowtrain {

TransformEntry mfcc_transform_entry() {
  return speech_features_entry(
      "mfcc",
      "mel cepstra of a recording, f32 (T, coefficients), as by Kaldi or torchaudio; the field NAME_length has the "
      "number of frames",
      {{"bins", Kind::integer, std::int64_t{23}, "mel filters", 1, 4096},
       {"coefficients", Kind::integer, std::int64_t{13}, "cepstral coefficients of a frame", 1, 4096},
       {"lifter", Kind::real, -1.0, "cepstral lifter; 0: none; -1: 22 for kaldi, else none", -1, 1000},
       {"energy", Kind::boolean, false, "put the log energy of the frame in the place of the first coefficient"},
       {"energy_floor", Kind::real, 0.0, "bound of this energy", 0, 1e30},
       {"range", Kind::real, 80.0, "decibels below the greatest value at which torchaudio's values are cut off; 0: not",
        0, 1000}});
}

}  // namespace flowtrain
