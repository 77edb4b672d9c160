#include "pipeline/distributed/rendezvous.h"

#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "pipeline/launch/address.h"
#include "pipeline/launch/url.h"
#include "stages/named_thread.h"
#include "stages/torch/torch_group.h"

namespace flowtrain {

namespace {

using std::chrono::milliseconds;
using StorePtr = c10::intrusive_ptr<c10d::Store>;

constexpr auto heartbeat = std::chrono::seconds(1);
constexpr auto patience = 4 * heartbeat;  // for news of a rank that died

milliseconds timeout_of(const Settings& dist) { return milliseconds(static_cast<std::int64_t>(dist.real("timeout") * 1e3)); }

std::vector<std::uint8_t> bytes(const std::string& text) { return {text.begin(), text.end()}; }
std::string text_of(const std::vector<std::uint8_t>& value) { return {value.begin(), value.end()}; }

std::string first_line(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

StorePtr open_tcp(const std::string& host, int port, bool serves, milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(port);
  options.isServer = serves;
  options.waitWorkers = false;
  options.timeout = timeout;
  try {
    return c10::make_intrusive<c10d::TCPStore>(host, options);
  } catch (const std::exception& error) {
    throw UserError(Exit::distributed, tcp_url(host, port) + ": " + first_line(error),
                    serves ? "name another port: --dist-url" : "is rank 0 running, and this its address?");
  }
}

// Every start of the job has names of its own: what the one before left behind does not concern it.
StorePtr of_start(const StorePtr& store, int restart) {
  return c10::make_intrusive<c10d::PrefixStore>("flowtrain/" + std::to_string(restart), store);
}

StorePtr open_store(const Place& place, milliseconds timeout) {
  const MeetingPoint point = parse_dist_url(place.url);
  if (!point.file.empty()) return c10::make_intrusive<c10d::FileStore>(point.file, place.world);
  return open_tcp(point.host, point.port, place.rank == 0 && !place.store_is_there, timeout);
}

// Where Gloo listens: on the interface that the user names as for PyTorch, or on the one that leads to the other ranks.
std::shared_ptr<gloo::transport::Device> gloo_device(const Place& place) {
  using c10d::ProcessGroupGloo;
  if (const char* interface = std::getenv("GLOO_SOCKET_IFNAME")) return ProcessGroupGloo::createDeviceForInterface(interface);
  if (place.local_world == place.world) return ProcessGroupGloo::createDeviceForHostname("127.0.0.1");
  const MeetingPoint point = parse_dist_url(place.url);
  return point.file.empty() ? ProcessGroupGloo::createDeviceForHostname(address_towards(point.host, point.port))
                            : ProcessGroupGloo::createDefaultDevice();
}

c10::intrusive_ptr<c10d::ProcessGroup> make_group(const StorePtr& store, const Place& place, milliseconds timeout) {
  auto options = c10d::ProcessGroupGloo::Options::create(timeout);
  options->devices.push_back(gloo_device(place));
  auto group = c10::make_intrusive<c10d::ProcessGroup>(store, place.rank, place.world);
  group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::BackendType::GLOO,
                    c10::make_intrusive<c10d::ProcessGroupGloo>(store, place.rank, place.world, options));
  group->setDefaultBackend(c10d::ProcessGroup::BackendType::GLOO);
  return group;
}

// The first to come is the one that counts.
void report(c10d::Store& store, const std::string& what) { store.compareSet("failure", bytes(""), bytes(what)); }

// Of a beat, "17 the averaging of gradients (collective 530)".
std::string after_count(const std::string& beat) {
  const auto space = beat.find(' ');
  return space == std::string::npos ? "" : ", last seen at " + beat.substr(space + 1);
}

std::string beat_of(int rank) { return "beat/" + std::to_string(rank); }

}  // namespace

struct LauncherStore::Impl {
  StorePtr store;
};

LauncherStore::LauncherStore(const std::string& url, bool serves) : impl_(std::make_unique<Impl>()) {
  const MeetingPoint point = url.empty() ? MeetingPoint{"127.0.0.1", 0, ""} : parse_dist_url(url);
  url_ = url;
  if (!point.file.empty()) return;  // the ranks meet in a file, and nobody serves
  auto store = open_tcp(point.host, point.port, serves || url.empty(), c10d::Store::kDefaultTimeout);
  url_ = tcp_url(point.host, static_cast<c10d::TCPStore&>(*store).getPort());
  impl_->store = std::move(store);
}

LauncherStore::~LauncherStore() = default;

void LauncherStore::tell_death(int restart, int rank, const std::string& how) {
  if (!impl_->store) return;
  try {
    const auto store = of_start(impl_->store, restart);
    store->add("shown", 1);  // by the launcher, who tells us
    report(*store, "rank " + std::to_string(rank) + " " + how);
  } catch (const std::exception&) {
    // The store's node is gone, too: the ranks notice that by themselves.
  }
}

struct Membership::Impl {
  Impl(const Place& joined, const Settings& dist) : place(joined) {
    const auto timeout = timeout_of(dist);
    store = of_start(open_store(place, timeout), place.restart);
    try {
      group = std::make_unique<TorchGroup>(make_group(store, place, timeout));
      // A connection of its own: the store's answers to one caller, and may make it wait.
      heart = named_thread("ft-heart", [this, own = of_start(open_connection(timeout), place.restart)] { beat(*own); });
    } catch (const UserError&) {
      throw;
    } catch (const std::exception& error) {
      throw UserError(Exit::distributed, "rank " + std::to_string(place.rank) + " of " + std::to_string(place.world) +
                                             " waited in vain for the others: " + first_line(error),
                      "start all of them within dist.timeout");
    }
  }

  ~Impl() {
    {
      std::lock_guard lock(mutex);
      ended = true;
    }
    changed.notify_all();
  }

  StorePtr open_connection(milliseconds timeout) const {
    Place client = place;
    client.store_is_there = true;
    return open_store(client, timeout);
  }

  void beat(c10d::Store& own) {
    std::unique_lock lock(mutex);
    try {
      for (std::uint64_t count = 0; !ended; ++count) {
        lock.unlock();
        own.set(beat_of(place.rank), bytes(std::to_string(count) + " " + group->last()));
        lock.lock();
        changed.wait_for(lock, heartbeat, [this] { return ended; });
      }
    } catch (const std::exception&) {
      // No store any more: whoever served it is gone, which the next collective shows.
    }
  }

  std::string failure() const { return store->check({"failure"}) ? text_of(store->get("failure")) : ""; }

  std::vector<std::string> beats() const {
    std::vector<std::string> all;
    for (int rank = 0; rank < place.world; ++rank)
      all.push_back(store->check({beat_of(rank)}) ? text_of(store->get(beat_of(rank))) : "");
    return all;
  }

  // Waits for news; then for a heart that stands still.
  std::string who_failed() const {
    const auto before = beats();
    const auto until = std::chrono::steady_clock::now() + patience;
    do {
      if (auto known = failure(); !known.empty()) return known;
      std::this_thread::sleep_for(milliseconds(50));
    } while (std::chrono::steady_clock::now() < until);
    const auto now = beats();
    std::string silent;
    for (int rank = 0; rank < place.world; ++rank)
      if (rank != place.rank && before[static_cast<std::size_t>(rank)] == now[static_cast<std::size_t>(rank)])
        silent += (silent.empty() ? "rank " : "; rank ") + std::to_string(rank) + " does not answer any more" +
                  after_count(now[static_cast<std::size_t>(rank)]);
    return silent;
  }

  Place place;
  StorePtr store;
  std::unique_ptr<TorchGroup> group;
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
  std::jthread heart;
};

Membership::Membership(const Place& place, const Settings& dist) : impl_(std::make_unique<Impl>(place, dist)) {}
Membership::~Membership() = default;
Group& Membership::group() { return *impl_->group; }

std::string Membership::explain(const std::string& message, bool lost) {
  Impl& impl = *impl_;
  const std::string own = impl.place.world > 1 ? "rank " + std::to_string(impl.place.rank) + ": " + message : message;
  try {
    if (!lost) report(*impl.store, own);
    const std::string first = lost ? impl.who_failed() : impl.failure();
    const bool shows = impl.store->add("shown", 1) == 1;
    return !shows ? "" : first.empty() ? own : first;
  } catch (const std::exception&) {
    return own + " (and the store where ranks meet is gone)";
  }
}

}  // namespace flowtrain
