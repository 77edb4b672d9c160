#pragma once
// Warnings from code that has no log: the program says where they go.

#include <string>

namespace flowtrain {

inline void (*warning_sink)(const std::string& text) = nullptr;

/// Where warn() sends its text, from any thread. To be set once, before other threads start; until then, nowhere.
inline void set_warning_sink(void (*sink)(const std::string& text)) { warning_sink = sink; }

/// Says what a user should know though the program goes on ("… does not answer"). Any thread.
inline void warn(const std::string& text) {
  if (warning_sink) warning_sink(text);
}

}  // namespace flowtrain
