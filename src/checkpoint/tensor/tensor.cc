#include "checkpoint/tensor/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <set>

#include "base/parallel.h"

namespace assay::checkpoint {
namespace {

using storage::Bytes;
using storage::MutableBytes;
using storage::ReadPiece;

/// Runs of so many bytes and more are read where they will lie; shorter ones with what is between them.
constexpr int64_t kDirectRunBytes = 64 << 10;
/// What is read with what is between at a time. Inputs of fuzz targets are smaller: their build says how much.
#ifndef ASSAY_READ_WINDOW_BYTES
#define ASSAY_READ_WINDOW_BYTES (8 << 20)
#endif
constexpr int64_t kWindowBytes = ASSAY_READ_WINDOW_BYTES;
constexpr int kBlocksAtATime = 8;

/// A box of a block as a copy: from the storage to memory with the strides of the wanted box.
struct BlockCopy {
  const Block* block;
  Sizes sizes;
  Sizes from_strides;
  Sizes to_strides;
  int64_t from = 0;  ///< first element in the storage
  int64_t to = 0;    ///< first element in the memory
  int64_t element_bytes = 1;

  int64_t FromByte(const Run& run) const { return block->storage->offset + (from + run.from) * element_bytes; }
  std::byte* To(MutableBytes memory, const Run& run) const { return memory.data() + (to + run.to) * element_bytes; }
  RunIterator runs() const { return {sizes, from_strides, to_strides}; }
};

std::optional<BlockCopy> CopyOf(const Tensor& tensor, const Block& block, const Box& box) {
  const std::optional<Box> common = Intersect(block.box, box);
  if (!common) {
    return std::nullopt;
  }
  BlockCopy copy = {.block = &block,
                    .sizes = common->sizes,
                    .from_strides = block.strides,
                    .to_strides = ContiguousStrides(box.sizes),
                    .from = block.storage_offset,
                    .element_bytes = ElementBytes(tensor.dtype)};
  for (size_t d = 0; d < common->sizes.size(); ++d) {
    copy.from += (common->offsets[d] - block.box.offsets[d]) * block.strides[d];
    copy.to += (common->offsets[d] - box.offsets[d]) * copy.to_strides[d];
  }
  return copy;
}

/// The byte of the source behind the last element that `copy` needs.
int64_t EndOf(const BlockCopy& copy) {
  int64_t last = copy.from;
  for (size_t d = 0; d < copy.sizes.size(); ++d) {
    last += (copy.sizes[d] - 1) * copy.from_strides[d];
  }
  return copy.block->storage->offset + (last + 1) * copy.element_bytes;
}

/// The same elements, the dimensions with the longest strides first: as they rise in the storage, where no rows
/// overlap.
BlockCopy InStorageOrder(const BlockCopy& copy) {
  std::vector<size_t> order(copy.sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t d) { return copy.from_strides[d]; });
  BlockCopy ordered = copy;
  for (size_t i = 0; i < order.size(); ++i) {
    ordered.sizes[i] = copy.sizes[order[i]];
    ordered.from_strides[i] = copy.from_strides[order[i]];
    ordered.to_strides[i] = copy.to_strides[order[i]];
  }
  return ordered;
}

void CopyFrom(const BlockCopy& copy, Bytes storage, MutableBytes memory) {
  RunIterator runs = copy.runs();
  Run run;
  while (runs.Next(run)) {
    std::memcpy(copy.To(memory, run), storage.data() + (copy.from + run.from) * copy.element_bytes,
                static_cast<size_t>(run.count * copy.element_bytes));
  }
}

/// Pieces where they will lie, some thousands a call.
Status ReadRuns(const BlockCopy& copy, MutableBytes memory) {
  constexpr size_t kPiecesAtATime = 4096;
  RunIterator runs = copy.runs();
  std::vector<ReadPiece> pieces;
  Run run;
  bool more = runs.Next(run);
  while (more) {
    pieces.push_back({copy.FromByte(run), {copy.To(memory, run), static_cast<size_t>(run.count * copy.element_bytes)}});
    more = runs.Next(run);
    if (!more || pieces.size() == kPiecesAtATime) {
      ASSAY_RETURN_IF_ERROR(copy.block->storage->source->Read(pieces));
      pieces.clear();
    }
  }
  return Status::Ok();
}

/// Short runs: read with what is between them, window by window. Rows that overlap begin before the end of the one
/// before them, and so perhaps before the window.
Status ReadThroughWindows(const BlockCopy& copy, MutableBytes memory) {
  const int64_t end = EndOf(copy);
  std::vector<std::byte> window;
  int64_t window_begin = 0;
  RunIterator runs = copy.runs();
  Run run;
  while (runs.Next(run)) {
    const int64_t from = copy.FromByte(run);
    const int64_t bytes = run.count * copy.element_bytes;
    const int64_t window_end = window_begin + static_cast<int64_t>(window.size());
    if (window.empty() || from < window_begin || from + bytes > window_end) {
      window_begin = from;
      window.resize(static_cast<size_t>(std::min(std::max(kWindowBytes, bytes), end - from)));
      const ReadPiece piece = {window_begin, window};
      ASSAY_RETURN_IF_ERROR(copy.block->storage->source->Read(std::span(&piece, 1)));
    }
    std::memcpy(copy.To(memory, run), window.data() + (from - window_begin), static_cast<size_t>(bytes));
  }
  return Status::Ok();
}

Status ReadBlock(const BlockCopy& copy, MutableBytes memory) {
  const Storage& storage = *copy.block->storage;
  ASSAY_ASSIGN_OR_RETURN(const auto view, storage.source->View(storage.offset, storage.bytes));
  if (view) {
    CopyFrom(copy, *view, memory);
    return storage.source->CheckUnchanged();
  }
  if (copy.runs().run_elements() * copy.element_bytes >= kDirectRunBytes || Count(copy.sizes) == 1) {
    return ReadRuns(copy, memory);
  }
  return ReadThroughWindows(InStorageOrder(copy), memory);
}

/// The only block, where its elements lie in row-major order.
const Block* LyingBlock(const Tensor& tensor) {
  const bool lies = tensor.blocks.size() == 1 && IsContiguous(tensor.shape, tensor.blocks.front().strides);
  return lies ? &tensor.blocks.front() : nullptr;
}

int64_t OffsetOf(const Tensor& tensor, const Block& block) {
  return block.storage->offset + BytesOf(tensor.dtype, block.storage_offset);
}

class RowMajorSource final : public DataSource {
 public:
  explicit RowMajorSource(std::shared_ptr<const Tensor> tensor) : tensor_(std::move(tensor)) {}

  std::string uri() const override {
    return tensor_->blocks.empty() ? "an empty tensor" : tensor_->blocks.front().storage->source->uri();
  }
  int64_t bytes() const override { return tensor_->bytes(); }

  Status Read(std::span<const ReadPiece> pieces) const override {
    const int64_t element_bytes = ElementBytes(tensor_->dtype);
    for (const ReadPiece& piece : pieces) {
      const auto size = static_cast<int64_t>(piece.memory.size());
      if (const Block* lying = Lying(); lying != nullptr) {
        const ReadPiece direct = {DataOffset(*lying) + piece.offset, piece.memory};
        ASSAY_RETURN_IF_ERROR(lying->storage->source->Read(std::span(&direct, 1)));
        continue;
      }
      if (IsPacked(tensor_->dtype) || piece.offset % element_bytes != 0 || size % element_bytes != 0) {
        return Status::Unsupported(fmt::format("cannot read a part of a tensor of {}, which {} holds in pieces",
                                               InfoOf(tensor_->dtype).name, uri()));
      }
      size_t done = 0;
      for (const Box& box : BoxesOfFlatRange(tensor_->shape, piece.offset / element_bytes, size / element_bytes)) {
        const auto bytes = static_cast<size_t>(Count(box.sizes) * element_bytes);
        ASSAY_RETURN_IF_ERROR(ReadBox(*tensor_, box, piece.memory.subspan(done, bytes)));
        done += bytes;
      }
    }
    return Status::Ok();
  }

  Result<std::optional<Bytes>> View(int64_t offset, int64_t bytes) const override {
    const Block* lying = Lying();
    if (lying != nullptr) {
      return lying->storage->source->View(DataOffset(*lying) + offset, bytes);
    }
    return this->bytes() == 0 ? std::optional(Bytes()) : std::optional<Bytes>();
  }

  Status CheckUnchanged() const override {
    for (const Block& block : tensor_->blocks) {
      ASSAY_RETURN_IF_ERROR(block.storage->source->CheckUnchanged());
    }
    return Status::Ok();
  }

 private:
  int64_t DataOffset(const Block& block) const { return OffsetOf(*tensor_, block); }
  const Block* Lying() const { return LyingBlock(*tensor_); }

  std::shared_ptr<const Tensor> tensor_;
};

Status WrongTensor(const std::string& name, const std::string& what) {
  return Status::InvalidArgument(fmt::format("tensor '{}' {}", name, what));
}

Status CheckBlock(const Tensor& tensor, const Block& block, const std::string& name) {
  if (!LiesWithin(block.box, tensor.shape) || block.strides.size() != tensor.shape.size()) {
    return WrongTensor(name, fmt::format("of shape {} has a part at {} of {}", ShapeText(tensor.shape),
                                         ShapeText(block.box.offsets), ShapeText(block.box.sizes)));
  }
  int64_t last = block.storage_offset;
  bool fits = last >= 0;
  for (size_t d = 0; d < block.strides.size(); ++d) {
    int64_t step = 0;
    fits = fits && block.strides[d] >= 0 &&
           !__builtin_mul_overflow(std::max<int64_t>(block.box.sizes[d] - 1, 0), block.strides[d], &step) &&
           !__builtin_add_overflow(last, step, &last);
  }
  int64_t bits = 0;
  fits = fits && !__builtin_add_overflow(last, 1, &last) &&
         !__builtin_mul_overflow(last, int64_t{InfoOf(tensor.dtype).element_bits}, &bits);
  if (!fits || (Count(block.box.sizes) > 0 && (bits + 7) / 8 > block.storage->bytes)) {
    return WrongTensor(name, fmt::format("of shape {} reaches beyond the {} bytes that it lies in",
                                         ShapeText(tensor.shape), block.storage->bytes));
  }
  return Status::Ok();
}

/// The dimension in which the boxes begin at the most places.
size_t MostDividedDimension(const Tensor& tensor) {
  size_t most = 0;
  size_t dimension = 0;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    std::set<int64_t> begins;
    for (const Block& block : tensor.blocks) {
      begins.insert(block.box.offsets[d]);
    }
    if (begins.size() > most) {
      most = begins.size();
      dimension = d;
    }
  }
  return dimension;
}

/// Only boxes that share indices of the most divided dimension are compared with each other.
Status CheckOverlaps(const Tensor& tensor, const std::string& name) {
  if (tensor.blocks.size() < 2) {
    return Status::Ok();
  }
  if (tensor.shape.empty()) {
    return WrongTensor(name, fmt::format("is one value, and there are {}", tensor.blocks.size()));
  }
  std::vector<const Box*> boxes;
  for (const Block& block : tensor.blocks) {
    if (Count(block.box.sizes) > 0) {
      boxes.push_back(&block.box);
    }
  }
  const size_t d = MostDividedDimension(tensor);
  std::ranges::sort(boxes, {}, [d](const Box* box) { return box->offsets[d]; });
  std::vector<const Box*> open;
  for (const Box* box : boxes) {
    std::erase_if(open, [&](const Box* other) { return other->offsets[d] + other->sizes[d] <= box->offsets[d]; });
    if (const auto twice =
            std::ranges::find_if(open, [&](const Box* other) { return Intersect(*other, *box).has_value(); });
        twice != open.end()) {
      return WrongTensor(name, fmt::format("has elements twice, in the parts at {} and {}",
                                           ShapeText((*twice)->offsets), ShapeText(box->offsets)));
    }
    open.push_back(box);
  }
  return Status::Ok();
}

}  // namespace

Tensor ContiguousTensor(DType dtype, Sizes shape, std::shared_ptr<const DataSource> source, int64_t offset) {
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  const auto storage = std::make_shared<const Storage>(Storage{std::move(source), offset, tensor.bytes()});
  tensor.blocks.push_back({WholeOf(tensor.shape), ContiguousStrides(tensor.shape), storage, 0});
  return tensor;
}

Tensor Narrow(const Tensor& tensor, const Box& box) {
  Tensor part = tensor;
  part.shape = box.sizes;
  part.blocks.clear();
  for (const Block& block : tensor.blocks) {
    const std::optional<Box> common = Intersect(block.box, box);
    if (!common) {
      continue;
    }
    Block& narrowed = part.blocks.emplace_back(block);
    narrowed.box.sizes = common->sizes;
    for (size_t d = 0; d < box.sizes.size(); ++d) {
      narrowed.storage_offset += (common->offsets[d] - block.box.offsets[d]) * block.strides[d];
      narrowed.box.offsets[d] = common->offsets[d] - box.offsets[d];
    }
  }
  return part;
}

Status CheckTensor(const Tensor& tensor, const std::string& name) {
  const std::optional<int64_t> elements = Elements(tensor.shape);
  int64_t bits = 0;
  if (!elements || __builtin_mul_overflow(*elements, int64_t{InfoOf(tensor.dtype).element_bits}, &bits)) {
    return WrongTensor(name, fmt::format("has the impossible shape {}", ShapeText(tensor.shape)));
  }
  int64_t covered = 0;
  for (const Block& block : tensor.blocks) {
    ASSAY_RETURN_IF_ERROR(CheckBlock(tensor, block, name));
    // Below the elements of the tensor, unless boxes overlap.
    covered = std::min(covered, *elements) + Count(block.box.sizes);
  }
  ASSAY_RETURN_IF_ERROR(CheckOverlaps(tensor, name));
  if (covered != *elements) {
    return WrongTensor(name, fmt::format("of shape {} lacks {} of its {} elements", ShapeText(tensor.shape),
                                         *elements - covered, *elements));
  }
  return Status::Ok();
}

Status ReadBox(const Tensor& tensor, const Box& box, MutableBytes memory) {
  if (IsPacked(tensor.dtype)) {
    return Status::Unsupported(
        fmt::format("cannot read a part of a tensor of {}: its elements share bytes", InfoOf(tensor.dtype).name));
  }
  std::vector<BlockCopy> copies;
  for (const Block& block : tensor.blocks) {
    if (std::optional<BlockCopy> copy = CopyOf(tensor, block, box); copy) {
      copies.push_back(std::move(*copy));
    }
  }
  // Blocks are in files of different ranks: whoever waits for a network waits for several at a time.
  return ParallelUntilFailure(std::ssize(copies), kBlocksAtATime,
                              [&](int64_t i) { return ReadBlock(copies[static_cast<size_t>(i)], memory); });
}

DataRange RowMajorRange(const std::shared_ptr<const Tensor>& tensor) {
  const Block* lying = LyingBlock(*tensor);
  return lying != nullptr ? DataRange{lying->storage->source, OffsetOf(*tensor, *lying)}
                          : DataRange{RowMajorBytes(tensor), 0};
}

std::shared_ptr<const DataSource> RowMajorBytes(std::shared_ptr<const Tensor> tensor) {
  return std::make_shared<RowMajorSource>(std::move(tensor));
}

}  // namespace assay::checkpoint
