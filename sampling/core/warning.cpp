#include "sampling/core/warning.h"

namespace flowtrain {
namespace {

void (*chosen_sink)(const std::string&) = nullptr;

}  // namespace

void set_warning_sink(void (*sink)(const std::string& text)) { chosen_sink = sink; }

void warn(const std::string& text) {
  if (chosen_sink) chosen_sink(text);
}

}  // namespace flowtrain
