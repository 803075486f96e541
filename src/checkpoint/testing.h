// What the tests of this module share.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/find.h"
#include "checkpoint/tensor/tensor.h"
#include "storage/memory/memory_store.h"

namespace assay::checkpoint {

/// The value, or a failure of the test with the error's text.
template <typename T>
T Must(Result<T> result) {
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? std::move(result).value() : T();
}
inline std::string ErrorOf(const Status& status) {
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.message().find('\n'), std::string::npos) << "an error is one line";
  return status.message();
}
template <typename T>
std::string ErrorOf(const Result<T>& result) {
  return ErrorOf(result.status());
}

/// `elements` numbers of that dtype as bytes that count on from `first`.
inline std::string Counting(int64_t bytes, int first = 0) {
  std::string text(static_cast<size_t>(bytes), '\0');
  for (size_t i = 0; i < text.size(); ++i) {
    text[i] = static_cast<char>((static_cast<size_t>(first) + i * 7 + i / 256) % 251);
  }
  return text;
}

inline std::shared_ptr<const Tensor> TensorOf(DType dtype, Sizes shape, std::string bytes) {
  return std::make_shared<const Tensor>(ContiguousTensor(dtype, std::move(shape), SourceOfText(std::move(bytes))));
}

inline std::string BytesOfTensor(const std::shared_ptr<const Tensor>& tensor) {
  return Must(ReadText(*RowMajorBytes(tensor), 0, tensor->bytes()));
}

/// Bytes that can only be read, by any thread, and how many were.
class CountingSource final : public DataSource {
 public:
  explicit CountingSource(std::string bytes) : bytes_(std::move(bytes)) {}
  std::string uri() const override { return "counted"; }
  int64_t bytes() const override { return static_cast<int64_t>(bytes_.size()); }
  Status Read(std::span<const storage::ReadPiece> pieces) const override {
    int64_t at_once = 0;
    for (const storage::ReadPiece& piece : pieces) {
      at_once += static_cast<int64_t>(piece.memory.size());
      std::memcpy(piece.memory.data(), bytes_.data() + piece.offset, piece.memory.size());
    }
    const std::lock_guard lock(mutex_);
    read_ += at_once;
    most_at_once_ = std::max(most_at_once_, at_once);
    return Status::Ok();
  }
  int64_t read() const { return read_; }
  int64_t most_at_once() const { return most_at_once_; }

 private:
  std::string bytes_;
  mutable std::mutex mutex_;
  mutable int64_t read_ = 0;
  mutable int64_t most_at_once_ = 0;
};

/// A dict of tensors and a number, that differs by `seed`.
inline Value StateOf(int seed, int64_t rows = 6) {
  std::vector<std::pair<Value, Value>> items;
  for (int i = 0; i < 3; ++i) {
    items.emplace_back(Value::Text("w" + std::to_string(i)),
                       Value(TensorOf(DType::kFloat32, {rows, 5}, Counting(rows * 20, seed * 31 + i))));
  }
  items.emplace_back(Value::Text("seed"), Value(int64_t{seed}));
  return Value::MakeDict(std::move(items));
}

/// A checkpoint that stands nowhere.
inline Checkpoint CheckpointOf(Value root) {
  Checkpoint checkpoint;
  checkpoint.state = Must(State::Of(std::move(root)));
  return checkpoint;
}

/// The content of every object, by key.
inline std::map<std::string, std::string> ContentOf(storage::ObjectStore& store) {
  std::map<std::string, std::string> content;
  for (const storage::ObjectInfo& info : Must(store.List({})).objects) {
    std::string& text = content[info.key];
    (void)store.ReadWhole(info.key,
                          [&](int64_t size) {
                            text.resize(static_cast<size_t>(size));
                            return std::as_writable_bytes(std::span(text));
                          },
                          {});
  }
  return content;
}

}  // namespace assay::checkpoint
