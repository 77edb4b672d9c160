#pragma once
// Words to the user from where there is no log: the program says where they go.

#include <string>

namespace flowtrain {

/// Where warn() sends its text: any thread calls it. To be set once, before other threads start; nowhere before.
void set_warning_sink(void (*sink)(const std::string& text));

/// Says what a user should know though the program goes on ("… does not answer"). Any thread.
void warn(const std::string& text);

}  // namespace flowtrain
