#include "core/base/siphash.h"

#include <sodium/crypto_shorthash_siphash24.h>
#include <sys/random.h>

#include <boost/endian/conversion.hpp>

namespace cffs {

static_assert(sizeof(SipKey) == crypto_shorthash_siphash24_KEYBYTES);

std::uint64_t siphash_2_4(const SipKey& key, std::string_view bytes) {
  std::array<unsigned char, crypto_shorthash_siphash24_BYTES> hash;
  (void)crypto_shorthash_siphash24(hash.data(), reinterpret_cast<const unsigned char*>(bytes.data()),
                                   bytes.size(), key.data());  // never fails
  return boost::endian::load_little_u64(hash.data());
}

Result<SipKey> random_sip_key() {
  SipKey key;
  ssize_t n = 0;
  do {
    n = ::getrandom(key.data(), key.size(), 0);
  } while (n < 0 && errno == EINTR);
  if (n != static_cast<ssize_t>(key.size())) return fail(n < 0 ? errno : EIO, "getrandom");
  return key;
}

}  // namespace cffs
