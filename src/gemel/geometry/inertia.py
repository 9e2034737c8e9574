"""Mass, centre of mass and rotational inertia of a rigid body, and the conditions that make them physical.

Monogram notation, as in Drake: B is the body's frame with origin Bo, Bcm its centre of mass.

- `p_BoBcm_B` is the position from Bo to Bcm, expressed in B [m];
- `I_BBcm_B` is the inertia of body B about Bcm, expressed in B [kg·m²];
- `I_BBo_B` is the same about Bo; the two differ by the parallel-axis term m (|p|² 1 - p pᵀ).

A body made of positive mass that is not flat has a positive definite *pseudo-inertia* (Wensing, Kim and
Slotine 2018)

    J = [[S, h], [hᵀ, m]],   S = ∫ p pᵀ dm = ½ tr(I_BBo_B) 1 - I_BBo_B,   h = m p_BoBcm_B,

and every positive definite J comes from such a body. It says in one condition what positive mass, a
positive definite inertia and the triangle inequality of its principal moments say in three. Writing
J = U Uᵀ with U upper triangular and the logarithm of its diagonal gives ten unconstrained numbers, the
log-Cholesky parameters (Rucker and Wensing 2022): whatever an optimiser puts there is a physical body.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.errors import GemelError
from gemel.geometry import mesh
from gemel.geometry.se3 import SE3

_TOLERANCE = 1e-9
"""Rounding allowed in symmetry and in the triangle inequality, relative to the trace of the inertia."""

Vector = Float[np.ndarray, "3"]
Matrix = Float[np.ndarray, "3 3"]


@dataclass(frozen=True, eq=False)
class Inertia:
    """The ten inertial parameters of a rigid body. Unphysical values may be held; `check_physical` tells."""

    mass_kg: float
    p_BoBcm_B: Vector
    """Centre of mass in the body frame [m]; read-only."""
    I_BBcm_B: Matrix
    """Inertia about the centre of mass, in the body frame [kg·m²]; read-only."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass_kg", float(self.mass_kg))
        for name, shape in (("p_BoBcm_B", (3,)), ("I_BBcm_B", (3, 3))):
            object.__setattr__(self, name, _read_only(name, getattr(self, name), shape))
        _read_only("mass_kg", np.array(self.mass_kg), ())

    @staticmethod
    def from_about_origin(mass_kg: float, p_BoBcm_B: Vector, I_BBo_B: Matrix) -> "Inertia":
        """Inertia from one given about the body's origin."""
        return Inertia(mass_kg, p_BoBcm_B, I_BBo_B - _parallel_axis(mass_kg, p_BoBcm_B))

    @staticmethod
    def from_pseudo_inertia(J: Float[np.ndarray, "4 4"]) -> "Inertia":
        """Inertia from a pseudo-inertia about the body's origin; see the module."""
        S, h, mass_kg = J[:3, :3], J[:3, 3], float(J[3, 3])
        if not mass_kg > 0.0:
            raise GemelError(
                f"A pseudo-inertia of mass {mass_kg} kg has no centre of mass; a positive mass was expected.",
                remedy="Check the bottom right entry of the matrix.",
            )
        return Inertia.from_about_origin(mass_kg, h / mass_kg, np.trace(S) * np.eye(3) - S)

    @staticmethod
    def from_log_cholesky(theta: Float[np.ndarray, "10"]) -> "Inertia":
        """Inertia from its ten log-Cholesky parameters.

        Their order is that of Rucker and Wensing (2022): alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3, and
        J = U Uᵀ with U = exp(alpha) [[e^d1, s12, s13, t1], [0, e^d2, s23, t2], [0, 0, e^d3, t3], [0, 0, 0,
        1]], so that the mass is exp(2 alpha) and t is the centre of mass [m].
        """
        alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3 = theta
        rows = [[np.exp(d1), s12, s13, t1], [0.0, np.exp(d2), s23, t2], [0.0, 0.0, np.exp(d3), t3]]
        U = np.exp(alpha) * np.array([*rows, [0.0, 0.0, 0.0, 1.0]])
        return Inertia.from_pseudo_inertia(U @ U.T)

    @staticmethod
    def box(mass_kg: float, size: "Vector | tuple[float, float, float]") -> "Inertia":
        """Solid box centred on the origin, edge lengths [m] along the axes."""
        x, y, z = np.asarray(size, dtype=np.float64) ** 2
        return Inertia(mass_kg, np.zeros(3), mass_kg / 12.0 * np.diag([y + z, x + z, x + y]))

    @staticmethod
    def cylinder(mass_kg: float, radius: float, length: float) -> "Inertia":
        """Solid cylinder centred on the origin, along z [m]."""
        across = mass_kg * (3.0 * radius**2 + length**2) / 12.0
        return Inertia(mass_kg, np.zeros(3), np.diag([across, across, mass_kg * radius**2 / 2.0]))

    @staticmethod
    def sphere(mass_kg: float, radius: float) -> "Inertia":
        """Solid ball centred on the origin [m]."""
        return Inertia(mass_kg, np.zeros(3), 0.4 * mass_kg * radius**2 * np.eye(3))

    @staticmethod
    def from_mesh(vertices: mesh.Vertices, faces: mesh.Faces, density: float) -> "Inertia":
        """Solid of uniform `density` [kg/m³] enclosed by a watertight mesh whose faces look outwards."""
        _check_solid(vertices, faces, density)
        # Moments about the middle of the mesh: taken from afar, their differences would lose digits.
        middle = mesh.bounds(vertices, faces).mean(axis=0)
        volume, first, second = mesh.volume_moments(vertices - middle, faces)
        I_about_middle = density * (np.trace(second) * np.eye(3) - second)
        about_middle = Inertia.from_about_origin(density * volume, first / volume, I_about_middle)
        return Inertia(about_middle.mass_kg, about_middle.p_BoBcm_B + middle, about_middle.I_BBcm_B)

    def about_origin(self) -> Matrix:
        """`I_BBo_B` [kg·m²], by the parallel-axis theorem."""
        return np.asarray(self.I_BBcm_B + _parallel_axis(self.mass_kg, self.p_BoBcm_B))

    def transformed(self, T_A_B: SE3) -> "Inertia":
        """The same body described in frame A: about A's origin and along A's axes."""
        R = T_A_B.rotation.as_matrix()
        return Inertia(self.mass_kg, T_A_B @ self.p_BoBcm_B, R @ self.I_BBcm_B @ R.T)

    def __add__(self, other: "Inertia") -> "Inertia":
        """The two bodies welded into one; both must be described in the same frame."""
        mass_kg = self.mass_kg + other.mass_kg
        p = (self.mass_kg * self.p_BoBcm_B + other.mass_kg * other.p_BoBcm_B) / mass_kg
        # Each part is moved straight to the common centre; going through the origin would cancel digits.
        parts = [body.I_BBcm_B + _parallel_axis(body.mass_kg, body.p_BoBcm_B - p) for body in (self, other)]
        return Inertia(mass_kg, p, parts[0] + parts[1])

    def pseudo_inertia(self) -> Float[np.ndarray, "4 4"]:
        """Pseudo-inertia J about the body's origin; see the module."""
        I_BBo_B = self.about_origin()
        h = self.mass_kg * self.p_BoBcm_B
        S = 0.5 * np.trace(I_BBo_B) * np.eye(3) - I_BBo_B
        return np.block([[S, h[:, None]], [h[None, :], np.array([[self.mass_kg]])]])

    def log_cholesky(self) -> Float[np.ndarray, "10"]:
        """The ten parameters of `from_log_cholesky`; an error where the body is flat or unphysical."""
        J = self.pseudo_inertia()
        try:
            # Reversing the order of the axes turns numpy's lower triangular factor into the upper one needed.
            U = np.linalg.cholesky(J[::-1, ::-1])[::-1, ::-1]
        except np.linalg.LinAlgError:
            smallest = np.linalg.eigvalsh(J)[0]
            raise GemelError(
                f"The pseudo-inertia is not positive definite: its smallest eigenvalue is {smallest:.3g}.",
                remedy="Call check_physical() for the reason; a flat body needs some thickness.",
            ) from None
        unit = U / U[3, 3]
        shear = (unit[0, 1], unit[1, 2], unit[0, 2])
        return np.array([np.log(U[3, 3]), *np.log(np.diag(unit)[:3]), *shear, *unit[:3, 3]])

    def is_physical(self) -> bool:
        """Whether some distribution of positive mass has this inertia; infinitely thin plates count."""
        return self._first_violation() is None

    def check_physical(self) -> None:
        """Raise an error that says which condition fails, and by how much."""
        violation = self._first_violation()
        if violation is not None:
            raise GemelError(
                f"The inertia belongs to no body: {violation}",
                remedy="Correct the model's file, or fit log-Cholesky parameters, which are always physical.",
            )

    def _first_violation(self) -> str | None:
        """The first condition that fails, in words."""
        if not self.mass_kg > 0.0:
            return f"the mass is {self.mass_kg:.6g} kg; it must be positive."
        size = float(np.abs(self.I_BBcm_B).max())
        asymmetry = float(np.abs(self.I_BBcm_B - self.I_BBcm_B.T).max())
        if asymmetry > _TOLERANCE * size:
            return f"the matrix is not symmetric; opposite entries differ by {asymmetry:.6g} kg·m²."
        small, middle, large = (float(value) for value in np.linalg.eigvalsh(self.I_BBcm_B))
        if not small > 0.0:
            return f"the smallest principal moment is {small:.6g} kg·m²; it must be positive."
        excess = large - small - middle
        if excess > _TOLERANCE * size:
            return (
                f"the triangle inequality fails; the largest principal moment, {large:.6g} kg·m², exceeds "
                f"the sum of the other two by {excess:.6g} kg·m²."
            )
        return None


def _parallel_axis(mass_kg: float, p: Vector) -> Matrix:
    """Inertia of a point of that mass at `p` about the origin."""
    return np.asarray(mass_kg * (np.dot(p, p) * np.eye(3) - np.outer(p, p)))


def _read_only(name: str, value: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """A private copy, after checking shape and finiteness."""
    copy = np.array(value, dtype=np.float64)
    if copy.shape != shape or not np.all(np.isfinite(copy)):
        raise GemelError(
            f"Inertia.{name} has shape {copy.shape} and {np.sum(~np.isfinite(copy))} entries that are not "
            f"finite; shape {shape} and finite numbers were expected.",
            remedy=f"Correct {name} where it is read or estimated.",
        )
    copy.setflags(write=False)
    return copy


def _check_solid(vertices: mesh.Vertices, faces: mesh.Faces, density: float) -> None:
    """Refuse meshes that do not bound a solid, and densities that are not positive."""
    complaint = None
    if not (np.isfinite(density) and density > 0.0):
        complaint = f"the density is {density} kg/m³; it must be positive"
    elif not mesh.is_watertight(vertices, faces):
        complaint = "the mesh is not watertight"
    elif not mesh.is_winding_consistent(vertices, faces):
        complaint = "neighbouring faces are wound in opposite directions"
    elif not mesh.volume(vertices, faces) > 0.0:
        complaint = f"the faces look inwards: the signed volume is {mesh.volume(vertices, faces):.3g} m³"
    if complaint is not None:
        raise GemelError(
            f"No inertia from this mesh: {complaint}.",
            remedy="Repair the mesh, or use the inertia of its convex hull or of a simple solid.",
        )
