#pragma once
// Errors that report a lack of memory.

#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "sampling/core/error.h"

namespace flowtrain {

inline constexpr const char* out_of_memory_hint =
    "set a smaller loader.batch or loader.prefetch, or use a smaller net (loader.batch = \"auto\" finds the largest "
    "batch that fits; flowtrain plan shows what a run takes)";

/// The host has no memory left; the user can choose a run that needs less.
class OutOfMemory : public UserError {
 public:
  explicit OutOfMemory(const std::string& message) : UserError(ExitCode::usage, message, out_of_memory_hint) {}
};

/// Returns whether an error says that the host has no memory left. LibTorch says so only in its message.
inline bool host_ran_out_of_memory(const std::exception& error) {
  return dynamic_cast<const OutOfMemory*>(&error) != nullptr ||
         dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
         std::string_view(error.what()).find("DefaultCPUAllocator") != std::string_view::npos;
}

/// Returns whether an error says that the host or a device has no memory left.
inline bool ran_out_of_memory(const std::exception& error) {
  return host_ran_out_of_memory(error) ||
         std::string_view(error.what()).find("out of memory") != std::string_view::npos;
}

}  // namespace flowtrain
