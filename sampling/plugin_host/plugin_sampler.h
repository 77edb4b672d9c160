#pragma once
// A plugin's sampler as a Sampler, which crosses the C interface for each sample.

#include <memory>

#include "sampling/plugin_abi.h"
#include "sampling/sampler.h"

namespace flowtrain {

/// The size of the buffer for a plugin's message, in bytes.
inline constexpr std::size_t plugin_message_bytes = 512;

/// Makes a sampler around `self`, which `table->create` made and which it now owns. Asks for its fields; throws
/// std::invalid_argument that says what is wrong with them. `keep` holds the shared object open.
std::unique_ptr<Sampler> make_plugin_sampler(std::shared_ptr<const void> keep, const ft_sampler_plugin* table,
                                             void* self);

}  // namespace flowtrain
