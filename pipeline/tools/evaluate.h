#pragma once
// Measuring a snapshot on the validation data: `flowtrain test`.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "pipeline/config/config.h"
#include "stages/evaluation/class_table.h"
#include "stages/learner_spec.h"

namespace flowtrain {

/// What was measured on one set.
struct Evaluation {
  std::string set;                      ///< of a [[val.set]]; empty: [data.val]
  std::filesystem::path folder;         ///< for files about it: test/<snapshot> in the run's folder, and <set> in that
  Scalars scalars;                      ///< the loss first; of a net that finds objects COCO's twelve and VOC's last
  std::optional<ClassTable> confusion;  ///< where val.metrics asks for it
  bool detects = false;                 ///< the net finds objects
};

/// Loss and metrics over the whole of [data.val] and of each [[val.set]], for a net of the classes that the snapshot's
/// was trained on; calls `on_set` after each. A net that finds objects looks at all pictures: in the set's folder it
/// leaves results.json (as MS COCO has it) and the first `pictures` of them with annotated and found boxes drawn (PNG),
/// and logs the metrics of each class; in a picture that cannot be read nothing is found, however many there are. A set
/// without samples is left out with a warning. Throws UserError, EmptyDataset where none has any.
void evaluate(const Config& config, const std::filesystem::path& snapshot, std::size_t pictures,
              const MakeLearner& make_learner, const std::function<void(const Evaluation&)>& on_set);

}  // namespace flowtrain
