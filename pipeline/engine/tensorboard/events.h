#pragma once
// TensorBoard's events (tensorboard/compat/proto/event.proto and summary.proto), encoded.

#include <cstdint>
#include <string>
#include <string_view>

#include "pipeline/engine/tensorboard/protobuf.h"
#include "stages/trace/histogram.h"

namespace flowtrain {

/// Returns the first event of each file, which selects the reader's rules for resumed runs.
std::string version_event();
/// Returns the event of a run that continues with iteration `first`: readers forget this iteration and later ones.
std::string start_event(std::uint64_t first);

/// The values of one iteration, under tags; the part before a tag's first slash groups it.
class SummaryEvent {
 public:
  explicit SummaryEvent(std::uint64_t iteration) : iteration_(iteration) {}

  void scalar(std::string_view tag, double value);
  void histogram(const Histogram& histogram);
  /// Adds a PNG file's bytes; ignores bytes of another kind.
  void picture(std::string_view tag, std::string_view png);
  void text(std::string_view tag, std::string_view markdown);

  bool empty() const { return summary_.bytes().empty(); }
  std::string bytes() const;

 private:
  std::uint64_t iteration_;
  ProtoWriter summary_;
};

/// The content of an encoded event.
struct EventContent {
  std::uint64_t iteration = 0;
  bool starts = false;     ///< it is a start_event()
  bool pictures = false;   ///< it has a tag that begins with `pictures/`
  bool validates = false;  ///< it has a tag that begins with `val/`
};
EventContent content_of(std::string_view event);

}  // namespace flowtrain
