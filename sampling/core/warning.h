#pragma once
// Warnings from code that has no log: the program sets their destination.

#include <string>

namespace flowtrain {

inline void (*warning_sink)(const std::string& text) = nullptr;

/// Sets the receiver of warn(). Call it once, before other threads start; until then, warnings are dropped.
inline void set_warning_sink(void (*sink)(const std::string& text)) { warning_sink = sink; }

/// Reports a problem that does not stop the program ("… does not answer"). Any thread.
inline void warn(const std::string& text) {
  if (warning_sink) warning_sink(text);
}

}  // namespace flowtrain
