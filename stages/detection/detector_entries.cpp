#include "stages/detection/detector_entries.h"

#include "nets/entries.h"

namespace flowtrain {

#define FLOWTRAIN_FILE(file) void FLOWTRAIN_ENTRIES(file)(EntrySink<Detector, DetectorInput>&);
#include "stages/detection/detector_list.h"
#undef FLOWTRAIN_FILE

// Never destroyed: entries of plugins may outlive what a program's end takes down.
Registry<Detector, DetectorInput>& detectors() {
  static Registry<Detector, DetectorInput>& all = *[] {
    auto* const made = new Registry<Detector, DetectorInput>("detector");
    EntrySink<Detector, DetectorInput> sink(*made, false);
#define FLOWTRAIN_FILE(file) FLOWTRAIN_ENTRIES(file)(sink);
#include "stages/detection/detector_list.h"
#undef FLOWTRAIN_FILE
    return made;
  }();
  return all;
}

std::string detector_name(const Settings& detect, const Settings& net) {
  if (const std::string& own = detect.text("name"); !own.empty()) return own;
  const std::string& name = net.text("name");
  return nets::nets().has(name) ? nets::nets().at(name).traits.detector : std::string();
}

std::vector<Key> nms_keys(const std::string& algorithm) {
  return {
      {.name = "nms_algorithm",
       .kind = Kind::text,
       .fallback = algorithm,
       .help = "treatment of boxes that overlap a better one of their class: lower their score by the squared overlap "
               "(exp_soft_nms) or the overlap (linear_soft_nms), remove them (nms), or keep them (none)",
       .choices = {"exp_soft_nms", "linear_soft_nms", "nms", "none"}},
      {"nms_threshold", Kind::real, 0.5, "smallest overlap that linear_soft_nms and nms suppress", 0, 1},
      {"max_per_image", Kind::integer, std::int64_t{100}, "largest number of boxes of an image", 1, 100'000}};
}

std::vector<Key> box_keys() {
  std::vector<Key> keys = nms_keys("nms");
  keys.insert(keys.begin(), {"least_score", Kind::real, 0.05, "smallest score of a box", 0, 1});
  return keys;
}

}  // namespace flowtrain
