# contention_probe: PGXS build of one shared library out of src/<layer>/.
#
#   make                      build                (PG_CONFIG=... for another server)
#   make install              install library, control file and scripts
#   make installcheck         regression and TAP tests in clusters of their own
#   make unit                 unit tests of the parts that need no server
#
# Strict builds: make COPT="-Wall -Wextra -Werror".  The server's headers are
# named as system headers first, so that only our own code is judged.

MODULE_big = contention_probe
EXTENSION = contention_probe
EXTVERSION = 0.1

SOURCES = $(wildcard $(srcdir)/src/*.c $(srcdir)/src/*/*.c)
OBJS = $(patsubst $(srcdir)/%.c,%.o,$(SOURCES))
OWN_HEADERS = $(wildcard $(srcdir)/src/*.h $(srcdir)/src/*/*.h)

DATA = $(wildcard extension/*--*.sql)

# pg_regress starts a server of its own: the library must be preloaded, which
# no foreign server can be asked to do.
REGRESS = $(patsubst sql/%.sql,%,$(sort $(wildcard sql/*.sql)))
REGRESS_OPTS = --temp-instance=tmp_check_regress \
	--temp-config=$(srcdir)/test/regress.conf --encoding=UTF8 \
	--load-extension=contention_probe
ifneq ($(wildcard t/*.pl),)
TAP_TESTS = 1
endif

PG_CONFIG ?= pg_config
# Call paths lead through our hooks on the executor.  What the library refers to
# in itself is not looked up through tables, which are cold after a sleep.
PG_CFLAGS = -fno-omit-frame-pointer -fno-semantic-interposition
PG_CPPFLAGS = -isystem $(shell $(PG_CONFIG) --includedir-server) -I$(srcdir)/src
SHLIB_LINK = -lZydis -Wl,-Bsymbolic
EXTRA_CLEAN = tmp_check_regress $(wildcard src/*.bc src/*/*.bc)

# LLVM bitcode is of no use to a profiler and doubles the build.
override with_llvm := no

srcdir = .
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

override with_llvm := no

$(OBJS): $(OWN_HEADERS)

unit:
	$(MAKE) -C test/unit check PG_CONFIG="$(PG_CONFIG)" CC="$(CC)"

.PHONY: unit
