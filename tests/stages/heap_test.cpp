#include "stages/system/malloc_tuning.h"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <vector>

// Sanitizers have allocators of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
namespace flowtrain::heap_test {
namespace {

long faults_of_a_step() {
  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);
  std::vector<char> activations(100 << 20, 1);
  activations.clear();
  ::getrusage(RUSAGE_SELF, &after);
  return after.ru_minflt - before.ru_minflt;
}

}  // namespace

TEST_CASE("what a step freed, the next one takes without faults, unless the environment tunes the allocator") {
  ::setenv("MALLOC_TRIM_THRESHOLD_", "1000000", 1);
  keep_freed_memory();
  faults_of_a_step();
  const long given_back = faults_of_a_step();
  ::unsetenv("MALLOC_TRIM_THRESHOLD_");
  keep_freed_memory();
  faults_of_a_step();
  CHECK(faults_of_a_step() < given_back / 4);
}

}  // namespace flowtrain::heap_test
#endif
