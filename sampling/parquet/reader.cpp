// libflowtrain_parquet.so: reads Parquet files by Arrow's C++ libraries. Columns are read as Parquet stores them, one
// batch of values at a time, so that no second copy of a group is in memory.

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/util/float16.h>
#include <parquet/api/reader.h>
#include <parquet/schema.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

#include "sampling/datasets/tables/parquet.h"

namespace flowtrain {
namespace {

using Kind = ParquetColumn::Kind;

/// The number of levels that are read at once.
constexpr std::int64_t batch_levels = 1024;

/// A column with its place among the leaves of the schema.
struct Leaf {
  int index = 0;
  std::int16_t item_level = 0;  ///< definition level from which on a list has an item, be it null
};

Kind kind_of(const parquet::ColumnDescriptor& leaf) {
  const auto& logical = leaf.logical_type();
  if (logical->is_decimal()) return Kind::unsupported;
  switch (leaf.physical_type()) {
    case parquet::Type::BOOLEAN:
    case parquet::Type::INT32:
    case parquet::Type::INT64: return Kind::integer;
    case parquet::Type::FLOAT:
    case parquet::Type::DOUBLE: return Kind::real;
    case parquet::Type::BYTE_ARRAY:
      return logical->is_string() || logical->is_JSON() || logical->is_enum() ? Kind::text : Kind::bytes;
    case parquet::Type::FIXED_LEN_BYTE_ARRAY: return logical->is_float16() ? Kind::real : Kind::bytes;
    default: return Kind::unsupported;
  }
}

/// Returns whether a field is a list of values: a group of a repeated value, or of a repeated group of one value.
bool is_list_of_values(const parquet::schema::Node& field) {
  if (field.is_primitive()) return field.is_repeated();
  const auto& list = static_cast<const parquet::schema::GroupNode&>(field);
  const bool marked = field.logical_type()->is_list() || field.converted_type() == parquet::ConvertedType::LIST;
  if (!marked || list.field_count() != 1 || !list.field(0)->is_repeated() || field.is_repeated()) return false;
  if (list.field(0)->is_primitive()) return true;
  const auto& items = static_cast<const parquet::schema::GroupNode&>(*list.field(0));
  return items.field_count() == 1 && items.field(0)->is_primitive() && !items.field(0)->is_repeated();
}

std::string type_of(const parquet::schema::Node& field) {
  const auto& logical = field.logical_type();
  if (logical && !logical->is_none()) return logical->ToString();
  if (field.is_group()) return "a group of columns";
  return parquet::TypeToString(static_cast<const parquet::schema::PrimitiveNode&>(field).physical_type());
}

/// Takes the levels and values of a column, and makes rows of them.
class RowMaker {
 public:
  RowMaker(const ParquetColumn& column, std::int16_t item_level, const parquet::ColumnDescriptor& leaf)
      : column_(column), leaf_(leaf), item_level_(item_level) {}

  /// Takes one level; `value` is null where there is none.
  template <class Value>
  void take(std::int16_t definition, std::int16_t repetition, const Value* value) {
    if (repetition == 0) {
      end_row();
      ++rows_;
    }
    if (value)
      add(*value);
    else if (column_.is_list && definition >= item_level_)
      fail("a null in a list");
  }

  ParquetValues finish() {
    end_row();
    auto& made = values_.column;
    made.texts.shrink_to_fit();
    const auto numbers = made.integers.size() + made.reals.size();
    if (!column_.is_list && !made.ends.empty() && numbers == rows_) {
      made.ends.clear();
      made.each = 1;
    }
    return std::move(values_);
  }

 private:
  void end_row() {
    if (rows_ == 0) return;
    if (column_.kind == Kind::integer || column_.kind == Kind::real) {
      values_.column.ends.push_back(values_.column.integers.size() + values_.column.reals.size());
      return;
    }
    values_.column.texts.add(column_.is_list && !text_.empty() ? text_ + "]" : text_);
    text_.clear();
  }

  void fail(const char* what) { values_.wrong.emplace_back(rows_ - 1, what); }

  void add(bool value) { values_.column.integers.push_back(value ? 1 : 0); }
  void add(std::int32_t value) {
    values_.column.integers.push_back(is_unsigned() ? std::int64_t{static_cast<std::uint32_t>(value)} : value);
  }
  void add(std::int64_t value) {
    if (value < 0 && is_unsigned()) fail("an integer beyond i64");
    values_.column.integers.push_back(value);
  }
  void add(float value) { values_.column.reals.push_back(value); }
  void add(double value) {
    const auto real = static_cast<float>(value);
    if (std::isinf(real) && !std::isinf(value)) fail("a number beyond f32");
    add(real);
  }
  void add(const parquet::ByteArray& value) {
    add(std::string_view(reinterpret_cast<const char*>(value.ptr), value.len));
  }
  void add(const parquet::FixedLenByteArray& value) {
    if (column_.kind == Kind::real) return add(arrow::util::Float16::FromLittleEndian(value.ptr).ToFloat());
    add(std::string_view(reinterpret_cast<const char*>(value.ptr), static_cast<std::size_t>(leaf_.type_length())));
  }
  void add(std::string_view text) {
    if (!column_.is_list) {
      text_ = text;
      return;
    }
    rapidjson::StringBuffer quoted;
    rapidjson::Writer writer(quoted);
    writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
    text_ += text_.empty() ? "[" : ", ";
    text_.append(quoted.GetString(), quoted.GetSize());
  }

  bool is_unsigned() const {
    const auto& logical = leaf_.logical_type();
    return logical->is_int() && !static_cast<const parquet::IntLogicalType&>(*logical).is_signed();
  }

  const ParquetColumn& column_;
  const parquet::ColumnDescriptor& leaf_;
  std::int16_t item_level_;
  std::size_t rows_ = 0;
  std::string text_;  ///< the text of this row, or the list of texts without its end
  ParquetValues values_;
};

template <class Type>
void read_values(parquet::ColumnReader& any, RowMaker& rows) {
  auto& reader = static_cast<parquet::TypedColumnReader<Type>&>(any);
  const auto most = reader.descr()->max_definition_level();
  std::vector<std::int16_t> definitions(batch_levels, most), repetitions(batch_levels, 0);
  const auto values = std::make_unique<typename Type::c_type[]>(batch_levels);
  while (reader.HasNext()) {
    std::int64_t count = 0;
    const auto levels = reader.ReadBatch(batch_levels, definitions.data(), repetitions.data(), values.get(), &count);
    for (std::int64_t i = 0, next = 0; i < levels; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const bool is_there = definitions[at] == most && next < count;
      rows.take(definitions[at], repetitions[at], is_there ? &values[static_cast<std::size_t>(next++)] : nullptr);
    }
  }
}

void read_column(parquet::ColumnReader& any, RowMaker& rows) {
  // clang-format off
  switch (any.type()) {
    case parquet::Type::BOOLEAN: return read_values<parquet::BooleanType>(any, rows);
    case parquet::Type::INT32: return read_values<parquet::Int32Type>(any, rows);
    case parquet::Type::INT64: return read_values<parquet::Int64Type>(any, rows);
    case parquet::Type::FLOAT: return read_values<parquet::FloatType>(any, rows);
    case parquet::Type::DOUBLE: return read_values<parquet::DoubleType>(any, rows);
    case parquet::Type::BYTE_ARRAY: return read_values<parquet::ByteArrayType>(any, rows);
    case parquet::Type::FIXED_LEN_BYTE_ARRAY: return read_values<parquet::FLBAType>(any, rows);
    default: throw std::runtime_error("the column has a type that is not supported");
  }
  // clang-format on
}

[[noreturn]] void pass_on(std::string_view what) {
  throw std::runtime_error(std::string(what.substr(0, what.find('\n'))));
}

/// Calls `body`, and passes on what Parquet throws as a std::runtime_error of one line.
template <class Body>
auto guarded(Body&& body) {
  try {
    return body();
  } catch (const parquet::ParquetException& error) {
    pass_on(error.what());
  } catch (const std::logic_error& error) {
    pass_on(error.what());
  }
}

/// A file as Arrow reads it: at any place, from any thread.
class SourceFile final : public arrow::io::RandomAccessFile {
 public:
  explicit SourceFile(const ByteSource& bytes) : bytes_(bytes) { set_mode(arrow::io::FileMode::READ); }

  arrow::Result<std::int64_t> GetSize() override { return static_cast<std::int64_t>(bytes_.size_bytes()); }
  arrow::Result<std::int64_t> ReadAt(std::int64_t place, std::int64_t count, void* to) override try {
    if (place < 0 || count < 0) return arrow::Status::Invalid("a place before the file's first byte");
    const std::span into(static_cast<std::byte*>(to), static_cast<std::size_t>(count));
    return static_cast<std::int64_t>(bytes_.read_at(static_cast<std::uint64_t>(place), into));
  } catch (const std::exception& error) {
    return arrow::Status::IOError(error.what());
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(std::int64_t place, std::int64_t count) override {
    // A damaged footer may ask for more than there is.
    const auto size = static_cast<std::int64_t>(bytes_.size_bytes());
    count = std::clamp<std::int64_t>(count, 0, std::max<std::int64_t>(size - std::max<std::int64_t>(place, 0), 0));
    ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateResizableBuffer(count));
    ARROW_ASSIGN_OR_RAISE(const auto got, ReadAt(place, count, buffer->mutable_data()));
    ARROW_RETURN_NOT_OK(buffer->Resize(got));
    return std::shared_ptr<arrow::Buffer>(std::move(buffer));
  }
  arrow::Result<std::int64_t> Read(std::int64_t count, void* to) override {
    ARROW_ASSIGN_OR_RAISE(const auto got, ReadAt(place_, count, to));
    place_ += got;
    return got;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t count) override {
    ARROW_ASSIGN_OR_RAISE(auto buffer, ReadAt(place_, count));
    place_ += buffer->size();
    return buffer;
  }
  arrow::Status Seek(std::int64_t place) override {
    place_ = place;
    return arrow::Status::OK();
  }
  arrow::Result<std::int64_t> Tell() const override { return place_; }
  arrow::Status Close() override { return arrow::Status::OK(); }
  bool closed() const override { return false; }

 private:
  const ByteSource& bytes_;
  std::int64_t place_ = 0;
};

class Reader final : public ParquetFile {
 public:
  Reader(const ByteSource& bytes, bool is_far) {
    parquet::ReaderProperties properties;
    if (!is_far) properties.enable_buffered_stream();
    file_ = parquet::ParquetFileReader::Open(std::make_shared<SourceFile>(bytes), properties);
    const auto& meta = *file_->metadata();
    for (int group = 0; group < meta.num_row_groups(); ++group) group_rows_.push_back(rows_of(meta, group));
    const auto& schema = *meta.schema();
    for (int index = 0; index < schema.num_columns(); ++index) add_leaf(schema, index);
  }

  const std::vector<ParquetColumn>& columns() const override { return columns_; }
  const std::vector<std::uint64_t>& group_rows() const override { return group_rows_; }

  ParquetValues read(std::size_t group, std::size_t column) const override {
    return guarded([&] {
      const auto any = file_->RowGroup(static_cast<int>(group))->Column(leaves_[column].index);
      RowMaker rows(columns_[column], leaves_[column].item_level, *any->descr());
      read_column(*any, rows);
      return rows.finish();
    });
  }

 private:
  /// Returns the rows of a group. A damaged footer may tell any number.
  static std::uint64_t rows_of(const parquet::FileMetaData& meta, int group) {
    const std::int64_t rows = meta.RowGroup(group)->num_rows();
    if (rows < 0 || rows > std::min<std::int64_t>(meta.num_rows(), std::numeric_limits<std::int32_t>::max()))
      throw std::runtime_error("a group has " + std::to_string(rows) + " rows by the footer, and the file " +
                               std::to_string(meta.num_rows()));
    return static_cast<std::uint64_t>(rows);
  }

  /// Adds the column of a leaf; the leaves of one nested field are one column, which is not supported.
  void add_leaf(const parquet::SchemaDescriptor& schema, int index) {
    const auto& field = *schema.GetColumnRoot(index);
    const auto& leaf = *schema.Column(index);
    if (!columns_.empty() && schema.GetColumnRoot(leaves_.back().index) == &field) return;
    const bool is_list = is_list_of_values(field);
    const bool is_nested = !is_list && !field.is_primitive();
    auto kind = is_nested ? Kind::unsupported : kind_of(leaf);
    if (is_list && kind == Kind::bytes) kind = Kind::unsupported;
    const bool null_items = !leaf.schema_node()->is_required() && !leaf.schema_node()->is_repeated();
    columns_.push_back(
        {field.name(), kind, is_list, is_list ? "a list of " + type_of(*leaf.schema_node()) : type_of(field)});
    leaves_.push_back({index, static_cast<std::int16_t>(leaf.max_definition_level() - (null_items ? 1 : 0))});
  }

  std::unique_ptr<parquet::ParquetFileReader> file_;
  std::vector<ParquetColumn> columns_;
  std::vector<Leaf> leaves_;
  std::vector<std::uint64_t> group_rows_;
};

}  // namespace

/// Opens a file for sampling/datasets/tables/parquet.h.
extern "C" ParquetFile* flowtrain_open_parquet(const ByteSource& bytes, bool is_far) {
  return guarded([&] { return new Reader(bytes, is_far); });
}

}  // namespace flowtrain
