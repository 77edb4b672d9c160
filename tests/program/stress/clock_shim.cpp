// Preloaded into the program: its wall clock jumps by up to ten years, forwards and back, every few times that it is
// looked at. The monotonic clocks are left alone. At the end stderr tells how often the clock has jumped.

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr std::int64_t ten_years_s = 10 * 365 * 86400;
constexpr std::uint64_t looks_per_jump = 3;

std::atomic<std::uint64_t> looks{0}, jumps{0};
std::atomic<std::int64_t> offset_s{0};

std::uint64_t mixed(std::uint64_t x) {  // SplitMix64's finaliser
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::int64_t jumping_offset_s() {
  static const char* const seed = std::getenv("FLOWTRAIN_CLOCK_SEED");
  const std::uint64_t draw = mixed(++looks * 0x9e3779b97f4a7c15ULL + (seed ? std::strtoull(seed, nullptr, 10) : 0));
  if (draw % looks_per_jump == 0) {
    offset_s = static_cast<std::int64_t>((draw >> 8) % (2 * ten_years_s)) - ten_years_s;
    ++jumps;
  }
  return offset_s;
}

int real_clock(clockid_t clock, timespec* now) { return static_cast<int>(::syscall(SYS_clock_gettime, clock, now)); }

struct Report {
  ~Report() { std::fprintf(stderr, "the clock jumped %lu times\n", static_cast<unsigned long>(jumps.load())); }
} report;

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const int result = real_clock(clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += jumping_offset_s();
  return result;
}

int gettimeofday(timeval* now, void*) noexcept {
  timespec exact{};
  const int result = clock_gettime(CLOCK_REALTIME, &exact);
  *now = {exact.tv_sec, exact.tv_nsec / 1000};
  return result;
}

time_t time(time_t* now) noexcept {
  timespec exact{};
  clock_gettime(CLOCK_REALTIME, &exact);
  if (now) *now = exact.tv_sec;
  return exact.tv_sec;
}

}  // extern "C"
