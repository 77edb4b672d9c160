#pragma once
// A page about a run that is kept up to date while the run trains.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace flowtrain {

/// Reads a run's files, on a thread of its own, and writes the page. Its destructor writes the last one.
class RunPage {
 public:
  virtual ~RunPage() = default;
  /// Takes the error that ended the run, for the last page. The thread that destroys this object calls it.
  virtual void failed(std::string error) = 0;
};

/// Begins the page of the run in `folder`.
using MakeRunPage = std::function<std::unique_ptr<RunPage>(const std::filesystem::path& folder)>;

}  // namespace flowtrain
