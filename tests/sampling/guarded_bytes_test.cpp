#include <doctest/doctest.h>

#include "sampling/guarded_bytes.h"

namespace flowtrain::guarded_bytes_test {

TEST_CASE("guarded bytes tell where memory outside of them was written") {
  GuardedBytes bytes(5);
  bytes.fill(std::byte{7});
  CHECK_FALSE(bytes.overwritten());
  CHECK(bytes.bytes().size() == 5);
  CHECK(bytes.bytes()[4] == std::byte{7});
  bytes.data()[5] ^= std::byte{1};
  CHECK(bytes.overwritten() == 5);
  bytes.data()[-2] ^= std::byte{1};
  CHECK(bytes.overwritten() == -2);
  bytes.restore_guards();
  CHECK_FALSE(bytes.overwritten());
  CHECK(bytes.bytes()[0] == std::byte{7});
}

TEST_CASE("guarded bytes copy their content") {
  const std::byte content[] = {std::byte{1}, std::byte{2}};
  const GuardedBytes bytes{std::span<const std::byte>(content)};
  CHECK(std::ranges::equal(bytes.bytes(), content));
  CHECK_FALSE(bytes.overwritten());
}

}  // namespace flowtrain::guarded_bytes_test
