#pragma once
// A scope that limits how long a reading thread waits for a server.

#include <stop_token>

namespace flowtrain {

/// Makes reads of this thread that wait for a silent server fail within a second of the stop, during its lifetime.
/// Scopes may be nested: the innermost one counts. A read outside of any waits as long as its settings say.
class ReadsUntil {
 public:
  explicit ReadsUntil(std::stop_token stop);
  ~ReadsUntil();
  ReadsUntil(const ReadsUntil&) = delete;

  /// Returns the stop token of this thread's scope.
  static std::stop_token token();

 private:
  std::stop_token outer_;
};

}  // namespace flowtrain
