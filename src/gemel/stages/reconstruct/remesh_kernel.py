"""Changes of connectivity on closed triangle meshes: collapse short edges, flip edges for even valences. All numba.

A half-edge is 3 f + i: side i of face f, from corner i to corner i + 1. `twin` gives the half-edge on the other side.
Removed faces have corners -1. Nothing here changes the topology: an edge is only collapsed if its ends have exactly two
common neighbours (the link condition, Dey et al. 1999).
"""

import numba  # noqa: TID253
import numpy as np

MOST_NEIGHBOURS = 64


@numba.njit(cache=True, nogil=True)
def twins(faces, vertex_count):  # type: ignore[no-untyped-def]
    """The other side of every half-edge of a closed mesh with consistent winding."""
    count = 3 * len(faces)
    key = np.empty(count, np.int64)
    back = np.empty(count, np.int64)
    for f in range(len(faces)):
        for i in range(3):
            a, b = faces[f, i], faces[f, (i + 1) % 3]
            key[3 * f + i] = a * vertex_count + b
            back[3 * f + i] = b * vertex_count + a
    order = np.argsort(key)
    twin = np.empty(count, np.int64)
    found = np.searchsorted(key[order], back)
    for h in range(count):
        twin[h] = order[found[h]]
    return twin


@numba.njit(cache=True, nogil=True)
def _next(h):  # type: ignore[no-untyped-def]
    return h - 2 if h % 3 == 2 else h + 1


@numba.njit(cache=True, nogil=True)
def _before(h):  # type: ignore[no-untyped-def]
    return h + 2 if h % 3 == 0 else h - 1


@numba.njit(cache=True, nogil=True)
def _fan(h, twin, fan):  # type: ignore[no-untyped-def]
    """Half-edges that leave the vertex which h leaves; how many, or 0 if there are too many to hold."""
    count, at = 0, h
    while True:
        if count == len(fan):
            return 0
        fan[count] = at
        count += 1
        at = twin[_before(at)]
        if at == h:
            return count


@numba.njit(cache=True, nogil=True)
def _normal(a, b, c):  # type: ignore[no-untyped-def]
    return np.cross(b - a, c - a)


@numba.njit(cache=True, nogil=True)
def _cosine(first, second):  # type: ignore[no-untyped-def]
    return np.dot(first, second) / np.sqrt(np.sum(first**2) * np.sum(second**2) + 1e-40)


@numba.njit(cache=True, nogil=True)
def _keeps_shape(fan, count, corners, vertices, place, ends, longest):  # type: ignore[no-untyped-def]
    """Whether faces of a fan stay turned as they are, and edges short, when its vertex moves to `place`.

    Faces with both ends of the collapsed edge go away and are not asked.
    """
    for n in range(count):
        b, c = corners[_next(fan[n])], corners[_before(fan[n])]
        if b not in ends and np.sum((vertices[b] - place) ** 2) > longest**2:
            return False
        if b in ends or c in ends:
            continue
        before = _normal(vertices[corners[fan[n]]], vertices[b], vertices[c])
        after = _normal(place, vertices[b], vertices[c])
        if _cosine(before, after) < 0.3 or np.sum(after**2) < 1e-30:
            return False
    return True


@numba.njit(cache=True, nogil=True)
def collapse_short(vertices, faces, coarseness, shortest, longest):  # type: ignore[no-untyped-def]
    """Merge the ends of edges shorter than `shortest` unless that makes edges longer than `longest` or turns faces.

    Both lengths are multiplied by the `coarseness` of the edge's ends (one number per vertex).
    Changes both arrays in place; faces that are gone hold -1. Returns how many edges were collapsed.
    """
    twin = twins(faces, len(vertices))
    corners = faces.ravel()
    length = np.empty(len(corners), np.float64)
    for h in range(len(corners)):
        a, b = corners[h], corners[_next(h)]
        length[h] = np.sqrt(np.sum((vertices[b] - vertices[a]) ** 2)) * 2.0 / (coarseness[a] + coarseness[b])
    fan_a, fan_b = np.empty(MOST_NEIGHBOURS, np.int64), np.empty(MOST_NEIGHBOURS, np.int64)
    done = 0
    for h in np.argsort(length):
        if length[h] > shortest:
            break
        if corners[h] < 0:
            continue
        a, b = corners[h], corners[_next(h)]
        here = 0.5 * (coarseness[a] + coarseness[b])
        if np.sum((vertices[a] - vertices[b]) ** 2) > (here * shortest) ** 2:
            continue
        count_a, count_b = _fan(h, twin, fan_a), _fan(twin[h], twin, fan_b)
        if count_a == 0 or count_b == 0 or count_a + count_b > MOST_NEIGHBOURS or count_a + count_b - 4 < 3:
            continue
        shared = 0
        for n in range(count_a):
            for m in range(count_b):
                if corners[_next(fan_a[n])] == corners[_next(fan_b[m])]:
                    shared += 1
        c, d = corners[_before(h)], corners[_before(twin[h])]
        if shared != 2 or c == d:
            continue
        place = 0.5 * (vertices[a] + vertices[b])
        ends = (a, b)
        if not _keeps_shape(fan_a, count_a, corners, vertices, place, ends, here * longest):
            continue
        if not _keeps_shape(fan_b, count_b, corners, vertices, place, ends, here * longest):
            continue
        _collapse(h, twin, corners, fan_a, count_a)
        vertices[b] = place
        done += 1
    return done


@numba.njit(cache=True, nogil=True)
def _collapse(h, twin, corners, fan, count):  # type: ignore[no-untyped-def]
    """Remove the two faces beside h and let its first end become its second."""
    other = twin[h]
    b = corners[_next(h)]
    for n in range(count):
        corners[fan[n]] = b
    for side in (h, other):
        first, second = twin[_next(side)], twin[_before(side)]
        twin[first], twin[second] = second, first
    for side in (h, other):
        base = side - side % 3
        corners[base : base + 3] = -1


@numba.njit(cache=True, nogil=True)
def flip_for_valence(vertices, faces, valence):  # type: ignore[no-untyped-def]
    """Turn edges in place where that brings the valences of the four vertices nearer to six; returns how many.

    Only where the two faces lie nearly in one plane, and never so that an edge would appear twice.
    """
    twin = twins(faces, len(vertices))
    corners = faces.ravel()
    fan = np.empty(MOST_NEIGHBOURS, np.int64)
    done = 0
    for h in range(len(corners)):
        t = twin[h]
        if t < h:
            continue
        a, b, c, d = corners[h], corners[t], corners[_before(h)], corners[_before(t)]
        now = abs(valence[a] - 6) + abs(valence[b] - 6) + abs(valence[c] - 6) + abs(valence[d] - 6)
        then = abs(valence[a] - 7) + abs(valence[b] - 7) + abs(valence[c] - 5) + abs(valence[d] - 5)
        if then >= now or c == d or valence[a] <= 3 or valence[b] <= 3:
            continue
        first, second = _normal(vertices[a], vertices[b], vertices[c]), _normal(vertices[b], vertices[a], vertices[d])
        new_first, new_second = (
            _normal(vertices[d], vertices[c], vertices[a]),
            _normal(vertices[c], vertices[d], vertices[b]),
        )
        if _cosine(first, second) < 0.8 or _cosine(new_first, new_second) < 0.8 or _cosine(first, new_first) < 0.5:
            continue
        count = _fan(_before(h), twin, fan)
        is_edge = count == 0
        for n in range(count):
            is_edge = is_edge or corners[_next(fan[n])] == d
        if is_edge:
            continue
        _flip(h, t, twin, corners)
        valence[a] -= 1
        valence[b] -= 1
        valence[c] += 1
        valence[d] += 1
        done += 1
    return done


@numba.njit(cache=True, nogil=True)
def _flip(h, t, twin, corners):  # type: ignore[no-untyped-def]
    """Faces (a, b, c) and (b, a, d) become (d, c, a) and (c, d, b)."""
    a, b, c, d = corners[h], corners[t], corners[_before(h)], corners[_before(t)]
    bc, ca, ad, db = twin[_next(h)], twin[_before(h)], twin[_next(t)], twin[_before(t)]
    f, g = h - h % 3, t - t % 3
    corners[f], corners[f + 1], corners[f + 2] = d, c, a
    corners[g], corners[g + 1], corners[g + 2] = c, d, b
    twin[f], twin[g] = g, f
    twin[f + 1], twin[f + 2], twin[g + 1], twin[g + 2] = ca, ad, db, bc
    twin[ca], twin[ad], twin[db], twin[bc] = f + 1, f + 2, g + 1, g + 2
