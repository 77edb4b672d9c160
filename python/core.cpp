// flowtrain._core: the data loader for Python. The package around it is in flowtrain/; what users see is said there.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "pipeline/base/config/part_kinds.h"
#include "pipeline/engine/loader/data_loader.h"
#include "python/binding.h"
#include "sampling/core/cpus.h"
#include "sampling/core/error.h"
#include "sampling/core/mutex.h"
#include "sampling/core/secrets.h"
#include "sampling/core/warning.h"
#include "sampling/datasets/arrays_dataset.h"
#include "sampling/datasets/coco_instances.h"
#include "stages/device/cpu_device.h"

namespace nb = nanobind;

namespace flowtrain {
namespace {

nb::dlpack::dtype dtype_of(DType type) {
  switch (type) {
    case DType::u8: return nb::dtype<std::uint8_t>();
    case DType::i32: return nb::dtype<std::int32_t>();
    case DType::i64: return nb::dtype<std::int64_t>();
    case DType::f32: return nb::dtype<float>();
  }
  throw InternalError("a field of no type");
}

/// Memory of batches that Python allocates and owns: an object with data_ptr(), such as a tensor, for each block.
class PythonMemory final : public CpuDevice {
 public:
  /// `allocate(bytes)` makes one.
  explicit PythonMemory(nb::object allocate) : allocate_(std::move(allocate)) {}
  ~PythonMemory() override {
    if (ending) {
      static_cast<void>(allocate_.release());
      return;
    }
    const nb::gil_scoped_acquire locked;
    allocate_.reset();
  }

  void* allocate_host(std::size_t bytes) override {
    const nb::gil_scoped_acquire locked;
    nb::object owner = allocate_(bytes);
    auto* const block = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(owner.attr("data_ptr")()));
    const MutexLock lock(mutex_);
    owners_.emplace(block, std::move(owner));
    return block;
  }
  void free_host(void* block) noexcept override {
    ++threads_outside;  // end_interpreter() waits for it
    if (!ending) {      // after that, Python objects must not be touched any more
      const nb::gil_scoped_acquire locked;
      const auto gone = take_out(block);  // it is destroyed outside the mutex, as that may run Python code
    }
    --threads_outside;
  }
  nb::object owner(void* block) {
    const MutexLock lock(mutex_);
    return owners_.at(block);
  }

 private:
  nb::object take_out(void* block) {
    const MutexLock lock(mutex_);
    return std::move(owners_.extract(block).mapped());
  }

  nb::object allocate_;
  Mutex mutex_;
  std::map<void*, nb::object> owners_ FT_GUARDED_BY(mutex_);
};

/// One thread at a time, and only in the process that made it.
class Guard {
 public:
  Guard(std::atomic<bool>& used, pid_t made_in) : used_(used) {
    check_process(made_in);
    if (used_.exchange(true)) throw std::runtime_error("another thread is in this loader");
  }
  ~Guard() { used_ = false; }
  Guard(const Guard&) = delete;

  static void check_process(pid_t made_in) {
    if (getpid() != made_in) throw std::runtime_error(made_before_fork);
  }

 private:
  std::atomic<bool>& used_;
};

/// Pictures u8 (n, height, width, channels), labels i64 (n) and the names of classes, of Python's.
using PyArrays =
    std::tuple<nb::ndarray<const std::uint8_t, nb::ndim<4>, nb::c_contig, nb::device::cpu>,
               nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>, std::vector<std::string>>;

Arrays view_of(const PyArrays& held) {
  const auto& [images, labels, class_names] = held;
  const auto side = [&images = images](std::size_t axis) { return static_cast<std::uint32_t>(images.shape(axis)); };
  return {.images = std::as_bytes(std::span(images.data(), images.size())),
          .labels = {labels.data(), labels.size()},
          .height = side(1),
          .width = side(2),
          .channels = side(3),
          .class_names = class_names};
}

class PyLoader {
 public:
  PyLoader(const std::string& file, const Pairs& overrides, bool training, bool drop_last, bool floats,
           std::uint64_t rank, std::uint64_t world, const nb::object& allocate, std::optional<PyArrays> arrays)
      : arrays_(std::move(arrays)) {
    check_not_forked();
    if (!allocate.is_none()) memory_ = std::make_shared<PythonMemory>(allocate);
    make_without_gil([&] {
      Config config = load_config(file, overrides_of(overrides));
      has_had_loaders = true;
      loader_ = std::make_unique<DataLoader>(std::move(config),
                                             DataLoaderOptions{training, drop_last, floats, {rank, world}, memory_},
                                             arrays_ ? make_arrays_dataset(view_of(*arrays_)) : nullptr);
    });
  }
  ~PyLoader() {
    const nb::gil_scoped_release unlocked;
    if (getpid() == made_in_)
      loader_.reset();
    else
      static_cast<void>(loader_.release());  // the process was forked, so the threads to join are not in it
  }

  /// A second stream of the same opened data. Any thread may call this.
  PyLoader* another() const {
    Guard::check_process(made_in_);
    std::unique_ptr<DataLoader> loader;
    without_gil([&] { loader = loader_->another(); });
    return new PyLoader(*this, std::move(loader));
  }

  void begin_epoch() {
    const Guard guard(used_, made_in_);
    without_gil([&] { loader_->begin_epoch(); });
  }

  /// (arrays in the order of fields(), ids, rows, places); in place of the arrays what owns their memory, where
  /// `allocate` has made it. `places` is None where all batches have the layout of layout(), else (shape of a row,
  /// offset, rows) of each field. None at the epoch's end; False where there is none yet, and it is not to wait.
  nb::object next(bool wait) {
    const Guard guard(used_, made_in_);
    for (;;) {
      std::optional<std::unique_ptr<LoadedBatch>> batch;
      without_gil([&] { batch = loader_->next_within(wait ? patience : std::chrono::microseconds(0)); });
      if (batch) return *batch ? to_python(**batch) : nb::none();
      if (!wait) return nb::bool_(false);
      if (PyErr_CheckSignals() != 0) throw nb::python_error();  // Ctrl-C
    }
  }

  nb::dict position() {
    const Guard guard(used_, made_in_);
    return position_of(loader_->cursor());
  }
  void seek(std::uint64_t epoch, std::uint64_t samples) {
    const Guard guard(used_, made_in_);
    without_gil([&] { loader_->seek({epoch, samples}); });
  }
  nb::dict basis() const {
    nb::dict basis;
    for (const auto& [name, value] : loader_->basis()) basis[name.c_str()] = value;
    return basis;
  }

  /// Returns the fields' names.
  nb::list fields() const {
    nb::list names;
    for (const Field& field : loader_->fields()) names.append(field.name);
    return names;
  }
  /// (dtype, shape of a row, offset in a batch's memory, mean, stddev) of each.
  nb::list layout() const {
    nb::list layout;
    for (std::size_t i = 0; i < loader_->fields().size(); ++i) {
      const Field& field = loader_->fields()[i];
      layout.append(nb::make_tuple(std::string(name_of(field.dtype)), field.shape, loader_->layout().offset(i),
                                   field.mean, field.stddev));
    }
    return layout;
  }
  /// {name: {axis of a batch: bound}} of the fields whose axes have another extent in each batch.
  nb::dict free_axes() const {
    nb::dict free;
    for (const Field& field : loader_->fields()) {
      nb::dict axes;
      for (std::size_t axis = 0; axis < field.free_axes; ++axis) axes[nb::int_(axis + 1)] = field.shape[axis];
      if (field.free_axes > 0) free[field.name.c_str()] = axes;
    }
    return free;
  }
  nb::dict sizes() const {
    nb::dict sizes;
    sizes["batches"] = loader_->batches();
    sizes["samples"] = loader_->samples();
    sizes["batch_size"] = loader_->batch_size();
    if (!memory_) sizes["memory_blocks"] = loader_->memory_blocks();
    sizes["workers"] = loader_->shape().workers;
    sizes["readers"] = loader_->shape().readers;
    sizes["prefetch"] = loader_->shape().prefetch;
    return sizes;
  }
  nb::dict busy_seconds() const {
    const LoaderTimes times = loader_->times();
    nb::dict busy;
    busy["read"] = times.read.busy_s;
    busy["sample"] = times.sample.busy_s;
    return busy;
  }
  /// Returns the values that decide the batches: by key, as TOML text.
  nb::dict values() const {
    nb::dict values;
    for (const auto& [key, value] : common_values(loader_->config())) values[key.c_str()] = value;
    return values;
  }
  /// Returns the form of stored samples; height, width and channels are 0 if they differ or are in files.
  nb::dict stored() const {
    const StoredForm form = loader_->stored_form();
    nb::dict stored;
    stored["files"] = form.encoding == Encoding::image;
    stored["resident"] = loader_->resident();
    stored["height"] = form.height;
    stored["width"] = form.width;
    stored["channels"] = form.channels;
    return stored;
  }
  /// (annotated boxes, the sum of their x, y, width and height), to compare annotations by.
  std::pair<std::size_t, double> box_sum() const {
    const auto all = loader_->annotations();
    double sum = 0;
    for (const CocoAnnotation& box : all->instances.annotations) sum += box.x + box.y + box.width + box.height;
    return {all->instances.annotations.size(), sum};
  }
  const std::vector<std::string>& classes() const { return loader_->classes(); }
  std::string describe(std::uint64_t id) const { return loader_->describe(id); }
  /// The first place of a list of records, each by the end of its name and its class, that is another one here; -1:
  /// all are the same.
  std::int64_t first_other(const std::vector<std::string>& names, const std::vector<std::int64_t>& labels) const {
    for (std::size_t id = 0; id < names.size(); ++id)
      if (loader_->label(id) != labels.at(id) || !loader_->describe(id).ends_with(names[id]))
        return static_cast<std::int64_t>(id);
    return -1;
  }
  void close() {
    const Guard guard(used_, made_in_);
    without_gil([&] { loader_->close(); });
  }

 private:
  PyLoader(const PyLoader& other, std::unique_ptr<DataLoader> loader)
      : memory_(other.memory_), arrays_(other.arrays_), loader_(std::move(loader)) {}

  static constexpr std::chrono::microseconds patience{100'000};

  nb::object to_python(LoadedBatch& batch) const {
    nb::object contents = memory_ ? memory_->owner(batch.memory.get()) : arrays_of(batch);
    std::uint64_t* const first = batch.ids.data();  // stays where it is when the vector moves
    const std::size_t count = batch.ids.size();
    nb::object places = nb::none();
    if (!batch.shapes.empty()) {
      nb::list all;
      for (std::size_t i = 0; i < batch.shapes.size(); ++i)
        all.append(nb::make_tuple(batch.shapes[i], batch.offsets[i], batch.rows_of(i)));
      places = all;
    }
    nb::object ids = array_of(first, {count}, nb::dtype<std::int64_t>(), std::move(batch.ids));
    return nb::make_tuple(contents, ids, batch.rows, places);
  }
  nb::object arrays_of(const LoadedBatch& batch) const {
    nb::list arrays;
    const auto& fields = loader_->fields();
    for (std::size_t i = 0; i < fields.size(); ++i) {
      std::vector<std::size_t> shape{batch.rows_of(i)};
      for (const std::int64_t side : batch.shapes.empty() ? fields[i].shape : batch.shapes[i])
        shape.push_back(static_cast<std::size_t>(side));
      arrays.append(array_of(batch.field(i), shape, dtype_of(fields[i].dtype), batch.memory));
    }
    return arrays;
  }

  const pid_t made_in_ = getpid();
  std::atomic<bool> used_{false};
  std::shared_ptr<PythonMemory> memory_;  // null: the loader's own
  std::optional<PyArrays> arrays_;        // read by the data set of `loader_`; released after it, with the GIL
  std::unique_ptr<DataLoader> loader_;
};

/// {table: {name: (help, [(key, default as TOML or None, help)])}} of the parts that make batches.
nb::dict parts() {
  nb::dict tables;
  for (const PartKind& kind : part_kinds()) {
    if (kind.table != "data" && kind.table != "sampler" && kind.table != "field") continue;
    nb::dict names;
    for (const std::string& name : kind.names()) {
      const PartFacts facts = kind.at(name);
      nb::list keys;
      for (const Key& key : facts.keys)
        keys.append(nb::make_tuple(key.name, key.required ? nb::none() : nb::cast(to_toml(key.fallback)), key.help));
      names[name.c_str()] = nb::make_tuple(facts.help, keys);
    }
    tables[kind.table.c_str()] = names;
  }
  return tables;
}

}  // namespace

NB_MODULE(_core, module) {
  // A child has none of the other threads: none is outside, and none is making something for ever.
  static std::optional<MutexLock> nobody_makes;
  pthread_atfork([] { nobody_makes.emplace(making); }, [] { nobody_makes.reset(); },
                 [] {
                   nobody_makes.reset();
                   threads_outside = 0;
                   if (has_had_loaders) was_forked_with_loaders = true;
                 });
  // Workers warn, too, and must not wait for the interpreter: the line goes past sys.stderr.
  if (!warning_sink)
    set_warning_sink([](const std::string& text) {
      std::fprintf(stderr, "flowtrain: warning: %s\n", without_secrets(text).c_str());
    });
  // Interpreters end with arrays alive; what they hold then is nobody's leak.
  nb::set_leak_warnings(false);

  static PyObject* config_error = PyErr_NewException("flowtrain.ConfigError", PyExc_ValueError, nullptr);
  static PyObject* data_error = PyErr_NewException("flowtrain.DataError", PyExc_RuntimeError, nullptr);
  module.attr("ConfigError") = nb::borrow(config_error);
  module.attr("DataError") = nb::borrow(data_error);
  nb::register_exception_translator([](const std::exception_ptr& error, void*) {
    try {
      std::rethrow_exception(error);
    } catch (const UserError& user) {
      const std::string text = user.what() + (user.hint().empty() ? std::string() : "\n  hint: " + user.hint());
      PyErr_SetString(user.code() == ExitCode::usage ? config_error : data_error, without_secrets(text).c_str());
    }
  });

  module.attr("version") = FLOWTRAIN_VERSION;
  module.attr("made_before_fork") = made_before_fork;
  module.def("parts", &parts);
  module.def("end_interpreter", &end_interpreter);
  module.def("usable_cores", &usable_cores);
  nb::class_<PyLoader>(module, "Loader")
      .def(nb::init<const std::string&, const Pairs&, bool, bool, bool, std::uint64_t, std::uint64_t, const nb::object&,
                    std::optional<PyArrays>>(),
           nb::arg("file"), nb::arg("overrides"), nb::arg("training"), nb::arg("drop_last"), nb::arg("floats"),
           nb::arg("rank"), nb::arg("world"), nb::arg("allocate").none(), nb::arg("arrays") = nb::none())
      .def("another", &PyLoader::another, nb::rv_policy::take_ownership)
      .def("begin_epoch", &PyLoader::begin_epoch)
      .def("next", &PyLoader::next, nb::arg("wait") = true)
      .def("position", &PyLoader::position)
      .def("seek", &PyLoader::seek, nb::arg("epoch"), nb::arg("samples"))
      .def("basis", &PyLoader::basis)
      .def("fields", &PyLoader::fields)
      .def("layout", &PyLoader::layout)
      .def("free_axes", &PyLoader::free_axes)
      .def("sizes", &PyLoader::sizes)
      .def("busy_seconds", &PyLoader::busy_seconds)
      .def("values", &PyLoader::values)
      .def("stored", &PyLoader::stored)
      .def("box_sum", &PyLoader::box_sum)
      .def("classes", &PyLoader::classes)
      .def("describe", &PyLoader::describe, nb::arg("id"))
      .def("first_other", &PyLoader::first_other, nb::arg("names"), nb::arg("labels"))
      .def("close", &PyLoader::close);
  add_sample_stream(module);
}

}  // namespace flowtrain
