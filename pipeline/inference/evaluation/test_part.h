#pragma once
// One measurement of `flowtrain test`.

#include <cstdint>
#include <filesystem>
#include <string>

#include "stages/model/validator.h"

namespace flowtrain {

/// A snapshot, a set, and a way to look at it.
struct TestPart {
  std::filesystem::path snapshot;  ///< its folder
  std::uint64_t iteration = 0;     ///< of the snapshot
  std::string set = {};            ///< empty: [data.val]; "test": [data.test]; others by their names
  std::string setting = {};        ///< of a [[test.setting]] or [[test.sweep]]; empty: the configuration as it is
  std::filesystem::path folder;    ///< for files about it: RUN/test/iter-00000500, or …/iter-00000500.SET+SETTING
};

/// What became of it.
struct PartOutcome {
  TestPart part;
  std::uint64_t samples = 0;
  Scalars scalars = {};    ///< the loss first; of a net that finds objects COCO's twelve and VOC's last
  std::string error = {};  ///< why there are none; empty: there are
  int exit_code = 0;       ///< of that error
};

}  // namespace flowtrain
