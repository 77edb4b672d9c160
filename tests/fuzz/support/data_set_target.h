#pragma once
// The work of the targets of files that are a whole data set.

#include "sampling/core/error.h"
#include "sampling/dataset.h"
#include "tests/fuzz/support/fuzz_target.h"

/// Reads all records, and their outlines: parts are those that the data set has declared, in their order.
inline void read_all(const flowtrain::Dataset& dataset) {
  using flowtrain::fuzz::require;
  const auto forms = dataset.parts();
  flowtrain::ReadBuffer buffer;
  for (std::uint64_t id = 0; id < dataset.size(); ++id) {
    try {
      const auto record = dataset.read(id, buffer);
      require(record.parts.size() == forms.size(), "a record has all parts");
      for (std::size_t i = 0; i < forms.size(); ++i) {
        const auto& part = record.parts[i];
        require(part.name == forms[i].name && part.encoding == forms[i].encoding, "parts are as declared");
        if (part.encoding != flowtrain::Encoding::array) continue;
        std::size_t bytes = flowtrain::size_of(part.dtype);
        for (const auto extent : part.shape) bytes *= static_cast<std::size_t>(extent);
        require(part.dtype == forms[i].dtype && bytes == part.bytes.size(), "an array has the bytes of its shape");
      }
      require(record.label < static_cast<std::int64_t>(dataset.classes().size()), "a label is a class");
    } catch (const flowtrain::SampleError&) {
    }
    flowtrain::Record outline;
    dataset.outline(id, outline, buffer);
  }
}
