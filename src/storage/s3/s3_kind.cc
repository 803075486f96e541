#include "storage/s3/s3_kind.h"

#include <memory>
#include <utility>

#include "storage/s3/s3_signer.h"
#include "storage/s3/s3_store.h"
#include "storage/store_environment.h"

namespace assay::storage {
namespace {

constexpr char kDefaultRegion[] = "us-east-1";
constexpr std::string_view kS3Schemes[] = {"s3"};

constexpr std::string_view kConditionWords[] = {"auto", "yes", "no"};
constexpr OptionFlag kStyleFlags[] = {
    {.names = "--path-style", .help = "S3: the bucket in the path, not in the host name", .value = "false"},
    {.names = "--virtual-host-style", .help = "S3: the bucket in the host name, also of an endpoint", .value = "true"}};
constexpr OptionFlag kEncryptionFlags[] = {{.names = "--sse", .help = "S3: AES256 or aws:kms"}};
constexpr OptionFlag kConditionFlags[] = {
    {.names = "--conditional-writes",
     .help = "S3: whether the store keeps conditions of writes; auto: it is tried [auto]"}};

constexpr OwnOption kS3Options[] = {
    {.key = "virtual_host_style",
     .variable = "ASSAY_STORAGE_VIRTUAL_HOST_STYLE",
     .meaning = "S3: bucket in the host name (true) or path (false)",
     .form = OwnOption::Form::kSwitch,
     .flags = kStyleFlags},
    {.key = "encryption",
     .variable = "ASSAY_STORAGE_ENCRYPTION",
     .meaning = "S3: AES256 or aws:kms",
     .flags = kEncryptionFlags},
    {.key = "trailing_checksums",
     .variable = "ASSAY_STORAGE_TRAILING_CHECKSUMS",
     .meaning = "S3: checksums follow the body (aws-chunked); without it on Amazon's alone",
     .form = OwnOption::Form::kSwitch},
    {.key = "conditional_writes",
     .variable = "ASSAY_STORAGE_CONDITIONAL_WRITES",
     .meaning = "S3: whether conditions are kept: auto, yes or no",
     .form = OwnOption::Form::kWord,
     .words = kConditionWords,
     .flags = kConditionFlags}};

// "Environment variables" of the AWS SDKs and Tools Reference Guide.
constexpr ForeignVariable kS3Variables[] = {
    {"AWS_ENDPOINT_URL_S3", "endpoint"}, {"AWS_ENDPOINT_URL", "endpoint"}, {"AWS_REGION", "region"},
    {"AWS_DEFAULT_REGION", "region"},    {"AWS_CA_BUNDLE", "ca_file"},     {"AWS_MAX_ATTEMPTS", "max_attempts"}};

Result<std::unique_ptr<ObjectStore>> OpenS3(const StoreUri& uri, const StoreOptions& options) {
  const Environment environment = EnvironmentOf(options);
  ASSAY_ASSIGN_OR_RETURN(const AwsSettings settings, ResolveAwsSettings(options, environment));
  const std::string region = settings.region.empty() ? kDefaultRegion : settings.region;
  ASSAY_ASSIGN_OR_RETURN(S3Address address, S3Address::Make(uri.bucket, settings.endpoint, region,
                                                            S3OptionsOf(options).virtual_host_style));
  ASSAY_ASSIGN_OR_RETURN(std::unique_ptr<Signer> signer, MakeS3Signer(options, region, environment));
  auto dialect = std::make_unique<S3Dialect>(std::move(address), region, options);
  return std::unique_ptr<ObjectStore>(std::make_unique<S3Store>(std::move(dialect), std::move(signer), options));
}

}  // namespace

S3Options S3OptionsOf(const StoreOptions& options) {
  const std::string conditional = options.Own("conditional_writes");
  return {.virtual_host_style = options.OwnSwitch("virtual_host_style"),
          .encryption = options.Own("encryption"),
          .trailing_checksums = options.OwnSwitch("trailing_checksums"),
          .conditional_writes = conditional == "yes"  ? ConditionalWrites::kYes
                                : conditional == "no" ? ConditionalWrites::kNo
                                                      : ConditionalWrites::kAuto};
}

constinit const StoreKind kS3Kind = {.name = "s3",
                                     .schemes = kS3Schemes,
                                     .pattern = "s3://bucket/key",
                                     .parse = ParseBucketUri,
                                     .open = OpenS3,
                                     .options = kS3Options,
                                     .variables = kS3Variables};

}  // namespace assay::storage
