#pragma once
// A plugin's sampler as a Sampler: the crossing of the C interface for each sample.

#include <memory>

#include "sampling/plugin_abi.h"
#include "sampling/sampler.h"

namespace flowtrain {

/// Bytes of the buffer for a plugin's message.
inline constexpr std::size_t plugin_message_bytes = 512;

class PluginSampler : public Sampler {
 public:
  /// Takes over `self`, which `table->create` made, and asks for its fields; throws std::invalid_argument with what is
  /// wrong with them. `keep` holds the shared object open.
  PluginSampler(std::shared_ptr<const void> keep, const ft_sampler_plugin* table, void* self);

  std::vector<Field> fields() const override { return fields_; }
  void sample(const Record& record, Stream& random, Row row) const override;
  bool takes_blocks() const override { return table_->sample_rows != nullptr; }
  void sample_rows(std::span<const Record* const> records, Row first) const override;

 private:
  /// The order matters: `self_` goes before the code that destroys it.
  std::shared_ptr<const void> keep_;
  const ft_sampler_plugin* table_;
  std::unique_ptr<void, void (*)(void*)> self_;
  std::vector<Field> fields_;
};

}  // namespace flowtrain
