#include "pipeline/engine/session/loggers.h"

#include <utility>

namespace flowtrain {

#define FLOWTRAIN_ENTRY(name) LoggerEntry name##_logger();
#include "pipeline/engine/train/logger_list.h"
#undef FLOWTRAIN_ENTRY

std::vector<NamedLogger> make_loggers(const LoggerInput& input) {
  std::vector<NamedLogger> all;
  for (auto make_entry : {
#define FLOWTRAIN_ENTRY(name) name##_logger,
#include "pipeline/engine/train/logger_list.h"
#undef FLOWTRAIN_ENTRY
       }) {
    LoggerEntry entry = make_entry();
    if (auto logger = entry.make(input)) all.push_back({std::move(entry), std::move(logger)});
  }
  return all;
}

}  // namespace flowtrain
