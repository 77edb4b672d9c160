#pragma once
// What a data set knows to do beside reading where its bytes come from far away.

#include <cstdint>

namespace flowtrain {

/// Also implemented by data sets that may be read from servers. All methods may be called from any thread and return at
/// once. Each record that is expected is begun later on, and then read once.
class Distant {
 public:
  virtual ~Distant() = default;

  /// It will be read, though not yet: when something near it is fetched, it may come along.
  virtual void expect(std::uint64_t id) const = 0;
  /// It will be read soon: it is fetched while others are read.
  virtual void begin(std::uint64_t id) const = 0;
  /// From now on a read that would wait for a server that is away fails within a second.
  virtual void abandon() const = 0;
  /// Requests that had to be repeated so far, as a server failed.
  virtual std::uint64_t retries() const = 0;
};

}  // namespace flowtrain
