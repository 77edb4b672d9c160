#pragma once
// One measurement of `flowtrain test`.

#include <cstdint>
#include <filesystem>
#include <string>

#include "stages/model/validator.h"

namespace flowtrain {

/// A snapshot, a set, and the setting with which it is measured.
struct TestPart {
  std::filesystem::path snapshot;  ///< the snapshot's folder
  std::uint64_t iteration = 0;     ///< the snapshot's iteration
  std::string set = {};            ///< empty: [data.val]; "test": [data.test]; otherwise the set's name
  std::string setting = {};        ///< the name of a [[test.setting]] or [[test.sweep]]; empty: the plain configuration
  std::filesystem::path folder;  ///< holds the files about it: RUN/test/iter-00000500, or …/iter-00000500.SET+SETTING
};

/// The outcome of a part.
struct PartOutcome {
  TestPart part;
  std::uint64_t samples = 0;
  Scalars scalars = {};    ///< the loss first; for a detector, COCO's twelve and VOC's last
  std::string error = {};  ///< the reason why there are no scalars; empty: there are
  int exit_code = 0;       ///< the error's exit code
};

}  // namespace flowtrain
