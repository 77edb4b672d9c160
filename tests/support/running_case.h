#pragma once
// The test case that runs now.

#include <string>
#include <string_view>

namespace flowtrain::test {

/// Returns the running test case's name; empty outside of one.
std::string_view running_case();

/// The value of doctest's --test-case that selects the case of this name alone.
std::string filter_of(std::string_view name);

}  // namespace flowtrain::test
