// Runs the image module from outside, for the parity tests and the benchmark.
//
//   image_tool decode FILE OUTPUT                    OUTPUT: i64 width, i64 height, the pixels
//   image_tool resize FILE OUTPUT WIDTH HEIGHT...    the same for each size, one after the other
//   image_tool float32|bfloat16 FILE OUTPUT WIDTH HEIGHT MEAN STD    three planes of numbers
//   image_tool time FILE WIDTH HEIGHT N              N times decoded and resized; prints the CPU seconds of each part
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "image/decode.h"
#include "image/normalize.h"
#include "image/resize.h"

namespace assay::image {
namespace {

using Arguments = std::vector<std::string>;

template <typename T>
std::string_view BytesOf(const T* data, size_t count) {
  return {reinterpret_cast<const char*>(data), count * sizeof(T)};
}

void Append(const Image& image, std::string& out) {
  out += BytesOf(&image.width, 1);
  out += BytesOf(&image.height, 1);
  out += BytesOf(image.rgb.data(), image.rgb.size());
}

int64_t Number(const std::string& text) {
  return std::atoll(text.c_str());
}

template <typename T, typename Convert>
std::string Normalized(const Image& image, const Convert& convert) {
  std::vector<uint8_t> planes(image.rgb.size());
  ToPlanes(image, planes.data());
  std::vector<T> numbers(planes.size());
  convert(planes.data(), image.width * image.height, numbers.data());
  return std::string(BytesOf(numbers.data(), numbers.size()));
}

std::string Normalize(const Arguments& arguments, const Image& image) {
  const double mean = std::atof(arguments[5].c_str());
  const double std = std::atof(arguments[6].c_str());
  const Normalizer normalizer({mean, mean, mean}, {std, std, std});
  const Image resized = Resize(image, Number(arguments[3]), Number(arguments[4]));
  if (arguments[0] == "float32") {
    return Normalized<float>(resized, [&](const auto&... all) { normalizer.ToFloat(all...); });
  }
  return Normalized<uint16_t>(resized, [&](const auto&... all) { normalizer.ToBfloat16(all...); });
}

double CpuSeconds() {
  timespec now;
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

Status Time(const Arguments& arguments) {
  ASSAY_ASSIGN_OR_RETURN(const std::string content, ReadFile(arguments[1]));
  double decode = 0;
  double resize = 0;
  for (int64_t i = 0; i < Number(arguments[4]); ++i) {
    const double start = CpuSeconds();
    ASSAY_ASSIGN_OR_RETURN(const Image image, DecodeImage(std::as_bytes(std::span(content))));
    const double decoded = CpuSeconds();
    const Image resized = Resize(image, Number(arguments[2]), Number(arguments[3]));
    resize += CpuSeconds() - decoded;
    decode += decoded - start;
  }
  fmt::print("{{\"decode_seconds\": {}, \"resize_seconds\": {}}}\n", decode, resize);
  return Status::Ok();
}

Status Run(const Arguments& arguments) {
  if (arguments.size() == 5 && arguments[0] == "time") {
    return Time(arguments);
  }
  if (arguments.size() < 3) {
    return Status::InvalidArgument("expected a verb, an image and an output; see the head of image_tool.cc");
  }
  ASSAY_ASSIGN_OR_RETURN(const Image image, ReadImage(arguments[1]));
  std::string out;
  if (arguments[0] == "decode") {
    Append(image, out);
  } else if (arguments[0] == "resize") {
    for (size_t i = 3; i + 1 < arguments.size(); i += 2) {
      Append(Resize(image, Number(arguments[i]), Number(arguments[i + 1])), out);
    }
  } else if (arguments.size() == 7) {
    out = Normalize(arguments, image);
  } else {
    return Status::InvalidArgument("expected a verb of image_tool.cc, not " + arguments[0]);
  }
  return WriteFileAtomically(arguments[2], out);
}

}  // namespace
}  // namespace assay::image

int main(int count, char** arguments) {
  const assay::Status status = assay::image::Run({arguments + 1, arguments + count});
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
  }
  return assay::ExitCode(status);
}
